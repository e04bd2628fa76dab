"""Real text of eight kinds, the same at each call, and what real tokenizers count of it."""

import hashlib
import json
import random
from collections.abc import Iterator

_PROSE = """\
I have been thinking about the solar panels on our roof. The installer told us that the inverter
needs to be replaced after ten years, which seems rather soon to me. What would you suggest we ask
before signing the contract? Perhaps we should compare two or three offers first, and look at the
guarantees in detail. My neighbour, who had hers installed in spring, is quite happy with them.
"""
_CODE = """\
class Invoice:
    def __init__(self, rows, *, currency="EUR", rounds_up=False):
        self._rows = list(rows)
        self.currency = currency

    def total(self):
        amounts = [row.amount * (1 - row.discount) for row in self._rows if not row.is_void]
        return round(sum(amounts), 2) if amounts else 0.0

const byName = new Map(rows.map((row) => [row.name, { ...row, seen: row.count > 0 }]));
for (const [name, { count }] of byName) { if (!count) console.warn(`${name}: none`); }
"""
_CHINESE = (
    "今天我们讨论了如何在家里做豆腐。首先需要把黄豆泡一个晚上，然后磨成豆浆，再用石膏点卤。"
    "宽带安装的师傅说明天上午九点到下午三点之间会来，请提前准备好身份证和房产证。"
    "青城山旅行的计划是坐高铁到成都，住一晚，第二天早上爬山。"
)


def _code(_rng: random.Random) -> str:
    return _CODE * 4


def _csv(rng: random.Random) -> str:
    rows = (
        f"{rng.randint(1_000, 99_999)},{rng.choice(['Alice', 'Bob', 'Carol'])},"
        f"{rng.random() * 1_000:.2f},2024-05-{rng.randint(1, 28):02d},{rng.random():.6f}"
        for _ in range(60)
    )
    return "id,name,amount,date,ratio\n" + "\n".join(rows)


def _json(rng: random.Random) -> str:
    rows = [
        {
            "id": rng.randint(1, 99_999),
            "tags": ["red", "blue"],
            "price": round(rng.random() * 100, 2),
            "active": True,
            "at": {"lat": rng.random() * 90, "lon": rng.random() * 180},
        }
        for _ in range(30)
    ]
    return json.dumps(rows, indent=1)


def _hex(rng: random.Random) -> str:
    return "\n".join(hashlib.sha256(rng.randbytes(8)).hexdigest() for _ in range(40))


def _log(rng: random.Random) -> str:
    return "\n".join(
        f"2024-05-{rng.randint(1, 28):02d}T10:12:{rng.randint(0, 59):02d}.410Z INFO "
        f"[worker-{rng.randint(1, 16)}] id={rng.getrandbits(64):016x} "
        f"GET /api/v1/items/{rng.randint(1, 9_999)} status=200 took={rng.randint(1, 900)}ms"
        for _ in range(40)
    )


def _mixed(rng: random.Random) -> str:
    return f"{_PROSE}\n```csv\n{_csv(rng)}\n```\n\n{_CHINESE}\n"


KINDS = {
    "prose": lambda _: _PROSE * 4,
    "code": _code,
    "csv": _csv,
    "json": _json,
    "hex": _hex,
    "log": _log,
    "chinese": lambda _: _CHINESE * 4,
    "mixed": _mixed,
}
"""By name, what makes the text with a generator of numbers."""


def texts_by_kind(seed: int = 7) -> Iterator[tuple[str, str]]:
    """The texts with their kinds."""
    for name, make in KINDS.items():
        yield name, make(random.Random(seed))


IN_OTHER_WORDS = {
    "German": (
        "Am Samstag haben wir endlich die Küche gestrichen. Mein Bruder brachte Abdeckfolie, zwei "
        "Farbrollen und einen Eimer hellgraue Wandfarbe mit. Nach dem Mittagessen reichte die "
        "Farbe nicht mehr, also fuhr ich noch einmal in den Baumarkt."
    ),
    "German without umlauts": (
        "Ich suche ein Rezept mit Linsen und Kartoffeln, das sich gut einfrieren laesst. Meine "
        "Kinder essen kaum Fleisch, und abends muss es schnell gehen."
    ),
    "Polish": (
        "W sobotę wreszcie pomalowaliśmy kuchnię. Brat przyniósł folię, dwa wałki i wiadro jasnej "
        "farby. Po obiedzie farby zabrakło, więc pojechałem jeszcze raz do sklepu."
    ),
    "Turkish": (
        "Cumartesi günü sonunda mutfağı boyadık. Kardeşim naylon örtü, iki rulo ve bir kova açık "
        "gri boya getirdi. Öğle yemeğinden sonra boya bitti, ben de yeniden dükkâna gittim."
    ),
    "Finnish": (
        "Lauantaina maalasimme vihdoin keittiön. Veljeni toi suojamuovia, kaksi telaa ja ämpärin "
        "vaaleanharmaata maalia. Lounaan jälkeen maali loppui kesken, joten ajoin uudestaan "
        "rautakauppaan."
    ),
    "Croatian": (
        "U subotu smo napokon obojili kuhinju. Brat je donio foliju, dva valjka i kantu svijetle "
        "boje. Poslije ručka je boje ponestalo, pa sam se ponovno odvezao u trgovinu."
    ),
    "Indonesian": (
        "Hari Sabtu akhirnya kami mengecat dapur. Kakak saya membawa plastik penutup, dua rol, dan "
        "satu ember cat abu-abu muda. Setelah makan siang catnya habis."
    ),
    "Vietnamese": (
        "Thứ bảy vừa rồi cuối cùng chúng tôi cũng sơn xong nhà bếp. Anh tôi mang theo tấm phủ, hai "
        "con lăn và một thùng sơn màu xám nhạt."
    ),
    "Greek": (
        "Το Σάββατο βάψαμε επιτέλους την κουζίνα. Ο αδερφός μου έφερε νάιλον, δύο ρολά και έναν "
        "κουβά ανοιχτόχρωμη μπογιά, που τελείωσε μετά το μεσημεριανό."
    ),
    "Russian": (
        "В субботу мы наконец покрасили кухню. Брат привёз плёнку, два валика и ведро светлой "
        "краски. После обеда краска закончилась, и я снова поехал в магазин."
    ),
    "Arabic": (
        "يوم السبت طلينا المطبخ أخيرا. أحضر أخي غطاء بلاستيكيا وأسطوانتين ودلوا من الدهان الفاتح. "
        "بعد الغداء نفد الدهان فذهبت إلى المتجر مرة أخرى."
    ),
    "Hindi": (
        "शनिवार को हमने आखिरकार रसोई की पुताई कर ली। मेरा भाई प्लास्टिक की चादर, दो रोलर और हल्के रंग की "
        "एक बाल्टी लाया। दोपहर के खाने के बाद रंग खत्म हो गया।"
    ),
    "Bengali": "শনিবার আমরা অবশেষে রান্নাঘর রং করলাম। আমার ভাই দুটো রোলার আর এক বালতি রং এনেছিল।",
    "Telugu": "శనివారం మేము చివరికి వంటగదికి రంగు వేశాము. మా అన్నయ్య రెండు రోలర్లు తెచ్చాడు.",
    "Thai": "วันเสาร์เราทาสีห้องครัวเสร็จเสียที พี่ชายเอาผ้าพลาสติก ลูกกลิ้งสองอัน และสีเทาอ่อนหนึ่งถังมาให้",
    "Georgian": "შაბათს როგორც იქნა სამზარეულო შევღებეთ. ჩემმა ძმამ ორი ლილვაკი მოიტანა.",
    "Amharic": "ቅዳሜ በመጨረሻ ኩሽናውን ቀባን። ወንድሜ ሁለት ሮለር እና አንድ ባልዲ ቀለም አመጣ።",
    "Korean": (
        "토요일에 드디어 부엌을 칠했습니다. 형이 비닐과 롤러 두 개, 밝은 회색 페인트 한 통을 "
        "가져왔습니다. 점심을 먹고 나니 페인트가 모자라서 다시 가게에 다녀왔습니다."
    ),
    "Japanese": (
        "土曜日にようやく台所の壁を塗りました。兄が養生シートとローラーを二本、薄い灰色の塗料を一缶持って"
        "きてくれました。昼食のあとで塗料が足りなくなりました。"
    ),
    "names": (
        "Bartosz Wieczorek\nJadwiga Pawlak\nTheodor Hagedorn\nRenate Oberhuber\n"
        "Ananya Krishnamurthy\nRajesh Venkataraman\nEmre Kocabas\nZeynep Altintas\n"
        "Lorenzo Mastroianni\nChinedu Okonkwo\n"
        "Niamh Fitzpatrick\nJokin Mendizabal\nHannele Lehtonen\nTran Quoc Bao\nYuki Matsumoto"
    ),
    "streets": (
        "Schellingstr. 14, Kaiserslautern\nAm Krautgarten 3, Rothenburg\nul. Piotrkowska 88, Lodz\n"
        "Rua Augusta 120, Lisboa\nVia Garibaldi 7, Bologna\nPrinsengracht 263, Amsterdam"
    ),
}
"""What English and Chinese tokenizers hardly know; the weights were found without these texts."""

COUNTED = {
    "Qwen 2.5": {
        "model": "qwen2.5:7b",
        "kinds": (344, 556, 2097, 2945, 2303, 2780, 288, 2261),
        "samples": (75, 147, 132, 151, 94, 68, 58, 82, 48, 38, 40),
        "words": (
            65,
            40,
            64,
            64,
            73,
            68,
            50,
            43,
            124,
            62,
            55,
            136,
            85,
            115,
            57,
            71,
            66,
            72,
            60,
            105,
            72,
        ),
    },
    "Llama 3": {
        "model": "llama3.1:8b",
        "kinds": (344, 556, 1267, 2190, 1500, 1971, 388, 1456),
        "samples": (75, 147, 91, 111, 73, 56, 40, 45, 65, 40, 32),
        "words": (
            66,
            40,
            63,
            55,
            73,
            64,
            50,
            38,
            64,
            56,
            57,
            80,
            97,
            132,
            51,
            130,
            123,
            62,
            66,
            103,
            66,
        ),
    },
    "Llama 4": {
        "model": "llama-4-scout",
        "kinds": (336, 556, 1286, 2190, 1510, 1974, 305, 1452),
        "samples": (73, 146, 91, 110, 69, 51, 40, 31, 52, 34, 30),
        "words": (
            *(56, 37, 49, 54, 62, 58, 39, 35, 63, 43, 57, 57, 41, 45, 39, 34, 36, 56, 60, 96, 57),
        ),
    },
    "DeepSeek 4": {
        "model": "deepseek-chat",
        "kinds": (344, 592, 1268, 2190, 1532, 2017, 268, 1426),
        "samples": (75, 151, 91, 111, 97, 67, 40, 51, 43, 36, 38),
        "words": (
            *(65, 41, 59, 70, 70, 63, 48, 59, 79, 59, 57, 84, 41, 58, 43, 61, 99, 70, 60, 98, 63),
        ),
    },
    "Mistral Nemo": {
        "model": "mistral-nemo",
        "kinds": (340, 572, 2117, 2945, 2334, 2825, 432, 2315),
        "samples": (73, 149, 132, 155, 80, 60, 38, 32, 75, 41, 28),
        "words": (
            *(57, 38, 58, 61, 64, 57, 46, 43, 65, 51, 48, 63, 43, 40, 53, 35, 124, 57, 67, 102, 60),
        ),
    },
    "Mistral 7B": {
        "model": "mistral:7b",
        "kinds": (352, 672, 2159, 3306, 2343, 2876, 505, 2384),
        "samples": (81, 177, 136, 156, 114, 68, 106, 95, 87, 60, 63),
        "words": (
            73,
            49,
            75,
            78,
            84,
            70,
            65,
            80,
            148,
            68,
            122,
            152,
            85,
            124,
            96,
            72,
            118,
            109,
            92,
            113,
            81,
        ),
    },
}
"""By tokenizer a model that has it, and its tokens of the texts above, of the samples of
`llm/estimating.py`, and of `IN_OTHER_WORDS`."""
