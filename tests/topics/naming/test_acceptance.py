import pytest

from smart_context.topics.naming.acceptance import accepted, is_courtesy, is_said

SAID = [
    "Evan, congrats on the New York Subway!",
    "カップヌードルとルールの話です",
    "哪家餐馆好？",
    "القهوة جيدة",
    "יש לי חומץ",
    "אני רוצה לגדל עגבניות, ולקנות זרעים לגינה. הגינה גדולה, גינה יפה",
]
SPEAKERS = frozenset({"evan", "melanie"})


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("new york subway", "New York Subway"),
        ("subway & rules", "Subway & Rules"),
        ("Congrats Evan", ""),
        ("Evan's Subway", ""),
        ("Reminder of London's", ""),
        ("Mel & Subway", ""),
        ("示して下さい", ""),
        ("subway since", ""),
        ("Rules of Subway", "Rules of Subway"),
        ("Melody", "Melody"),
        ("thanks", ""),
        ("Appreciate Subway", ""),
        ("How's Subway", ""),
        ("のルール", "ルール"),
        ("カップヌ", "カップヌードル"),
        ("家餐馆", "餐馆"),
        ("です", ""),
        ("تستمر الحفلة", "الحفلة"),
        ("وتريد عيد ميلاد", "عيد ميلاد"),
        ("ألم الظهر", "ألم الظهر"),
        ("وكيف أستقبل المدفوعات", "المدفوعات"),
        ("والقهوة حامضة", "القهوة حامضة"),
        ("بالقهوة", "القهوة"),
        ("بالشاي", "بالشاي"),
        ("تنظيف أطفال", "تنظيف أطفال"),
        ("להשתמש בחומץ", "חומץ"),
        ("ולמה להקה", "להקה"),
        ("לגדל עגבניות", "עגבניות"),
        ("זרעים לגינה", "זרעים לגינה"),
        ("לחם שיפון", "לחם שיפון"),
        ("iş görüşmesi", "İş Görüşmesi"),
        ("好的", ""),
        ("谢谢你", ""),
        ("客气", ""),
        ("merci beaucoup", ""),
        ("Danke", ""),
        ("one two three four five", ""),
        ("", ""),
    ],
)
def test_a_label_is_a_subject_in_whole_words(text, label):
    assert accepted(text, SAID, SPEAKERS) == label


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Thank you so much for your help!", True),
        ("ok, bye", True),
        ("Ah okay, I see.", True),
        ("Ah okay, verstehe.", True),
        ("Das verstehe ich nicht.", False),
        ("تمام، فهمت.", True),
        ("Tamam, anladım.", True),
        ("समझ गया।", True),
        ("哇，真是太棒了，谢谢你呀！", True),
        ("こんにちはいいえ", True),
        ("好的，我想去青年餐厅吃饭，帮我查询下他家的推荐菜是什么？", False),
        ("Thanks! How do I prune tomatoes?", False),
        ("tomatoes", False),
        ("ok thanks, that helps", True),
        ("perfect, that was helpful", True),
        ("Danke, das hilft mir sehr!", True),
        ("ok danke, das hat geholfen", True),
        ("merci, ça m'aide beaucoup", True),
        ("c'est parfait, merci", True),
        ("¡Muchas gracias por tu ayuda!", True),
        ("hola, buenas tardes", True),
        ("谢谢，明白了", True),
        ("太好了，这很有帮助", True),
        ("ありがとうございます、助かりました", True),
        ("おはようございます", True),
        ("How do starters help bread?", False),
        ("Was hilft gegen Mücken?", False),
        ("merci, et le pain ?", False),
        ("gracias, ¿y el pan?", False),
        ("可以洗澡吗？", False),
        ("谢谢，猫呢？", False),
        ("ありがとう、パンは？", False),
        ("thanks" + "!" * 900, True),
        ("thanks" + "!" * 1_000, False),
        ("", False),
    ],
)
def test_a_courtesy_says_nothing_else(text, expected):
    assert is_courtesy(text) is expected


def test_words_count_as_said_together_when_they_stand_side_by_side():
    assert is_said("york subway", SAID)
    assert not is_said("subway york", SAID)
