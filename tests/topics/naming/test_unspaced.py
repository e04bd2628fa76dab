import pytest

from smart_context.topics.naming.naming import plain_name
from smart_context.topics.naming.unspaced import unspaced_names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("怎么学好吉他？", ["吉他"]),
        ("西红柿炒鸡蛋怎么做？", ["西红柿", "鸡蛋"]),
        ("怎么申请日本签证？", ["日本签证"]),
        ("猫砂多久换一次？", ["猫砂"]),
        ("酒吧几点关门", ["酒吧", "关门"]),
        ("去长城怎么走？", ["长城"]),
        ("自行车链条老是掉怎么办？", ["自行车链条"]),
        ("空调外机一直响怎么修？", ["空调外机"]),
        ("电脑突然蓝屏怎么办？", ["电脑", "蓝屏"]),
    ],
)
def test_a_chinese_question_names_its_subject_in_whole_words(text, names):
    assert list(unspaced_names(text)) == names


def test_where_a_word_ends_is_seen_in_all_that_was_said():
    asked, answered = "西红柿多少钱？", "西红柿三块，西红柿汁五块。"
    assert plain_name([asked], frozenset(), [asked, answered]) == "西红柿"
