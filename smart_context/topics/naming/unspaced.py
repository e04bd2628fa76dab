"""Phrases of a chat that could name a topic, in Chinese, Japanese and Korean."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cache

from smart_context.base.text.word_lists import PARTICLES, STOP_WORDS_OF
from smart_context.base.text.words import UNSPACED_RUN
from smart_context.topics.naming.keyphrases import Phrase
from smart_context.topics.naming.words import aspect_words_of, weak_words_of

_HANGUL = re.compile("[\uac00-\ud7a3]+")
_LEAST = 2
_FIRST_SYLLABLE, _FINALS = 0xAC00, 28
_RIEUL = 8

_KOREAN_PARTICLES = (
    *("에서는", "에서도", "으로는", "까지는", "이라는", "에서", "에게", "한테", "까지", "부터"),
    *("처럼", "보다"),
    *("마다", "에는", "에도", "이나", "라도", "라는", "에", "도", "만", "의"),
)
"""Particles that follow any noun, the longest first."""

_AFTER_CONSONANT = ("으로", "이랑", "은", "을", "과", "이")
_AFTER_VOWEL = ("랑", "는", "를", "와", "가")
_ALL_PARTICLES = (*_KOREAN_PARTICLES, *_AFTER_CONSONANT, *_AFTER_VOWEL, "로")
_WHOLE_NOUNS = frozenset(
    (
        *("고양이", "어린이", "목걸이", "떡볶이", "손잡이", "옷걸이", "지팡이", "호랑이"),
        *("원숭이", "곰팡이"),
    )
)
_NEVER_SECOND = frozenset(("에", "를", "는", "이나", "부터", "까지"))
"""Endings that follow a noun of one syllable but are never part of a noun: `월에`, `밤에`."""

_KOREAN_ENDINGS = (
    *("요", "니다", "까", "죠", "려고", "는데", "하면", "으면", "이면", "되면", "하고", "하게"),
    *("해서", "해야", "해도"),
    *("는지", "하는", "되는", "있는", "없는", "같은", "않은", "싶은", "어서", "아서", "으니"),
    *("하지", "거나", "으며", "하며"),
    *("었다", "았다", "한다", "된다", "세", "려면", "다면", "도록", "에요", "어야", "아야", "주실"),
)
"""Endings of verbs and adjectives."""

_SHORT_VERB = re.compile("(?!마을|가을|노을)[\uac00-\ud7a3][을를은는할될실]")
"""`잊을`, `했는`: a verb in two syllables; a noun of one syllable names no topic either."""

_LONG_ENDINGS = ("고", "면", "은", "할", "될", "야", "해", "한", "니", "셔서")
"""Endings of verbs of three syllables and more; shorter words with them are often nouns."""


def is_korean(text: str) -> bool:
    """True if a text is written in Hangul alone."""
    return bool(_HANGUL.fullmatch(text))


def korean_noun(word: str) -> str:
    """The noun of a word; empty for verbs, stop words, and nouns of one syllable.

    Some words can't be told from words with a particle: a few common nouns that end like one are
    listed; any other may lose its last syllable.
    """
    if (
        _names_none(word)
        or word.endswith(_KOREAN_ENDINGS)
        or _SHORT_VERB.fullmatch(word)
        or any(_names_none(word.removesuffix(particle)) for particle in _ALL_PARTICLES)
    ):
        return ""
    noun = _without_particle(word)
    if len(noun) < _LEAST or _names_none(noun) or word[1:] in _NEVER_SECOND:
        return ""
    return "" if noun == word and len(word) > _LEAST and word.endswith(_LONG_ENDINGS) else noun


def _without_particle(word: str) -> str:
    if word in _WHOLE_NOUNS:
        return word
    for particle in _KOREAN_PARTICLES:
        if word.endswith(particle) and len(word) >= len(particle) + _LEAST:
            return word[: -len(particle)]
    ends_in_vowel = (_AFTER_VOWEL, _AFTER_CONSONANT)
    for particles, is_after_consonant in zip(ends_in_vowel, (False, True), strict=True):
        for particle in particles:
            noun = word.removesuffix(particle)
            if noun != word and len(noun) >= _LEAST and _ends_closed(noun) == is_after_consonant:
                return noun
    noun = word.removesuffix("로")
    is_instrument = noun != word and len(noun) >= _LEAST and _final(noun) in {0, _RIEUL}
    return noun if is_instrument else word


def _ends_closed(noun: str) -> bool:
    return _final(noun) != 0


def _final(noun: str) -> int:
    """The number of the last syllable's final consonant; 0 for none (Unicode, 3.12)."""
    return (ord(noun[-1]) - _FIRST_SYLLABLE) % _FINALS


def _names_none(word: str) -> bool:
    return word in STOP_WORDS_OF["ko"] or word in weak_words_of()["ko"]


_FEWEST, _MOST = 2, 6
_REPEATED, _WHOLE, _ONCE = 0.8, 0.6, 0.4

_PARTING_WORDS = (
    *("怎么样", "怎麼樣", "为什么", "為什麼", "是不是", "有没有", "有沒有", "能不能", "要不要"),
    *("怎么", "怎麼", "怎样", "怎樣", "什么", "什麼", "多少", "可以", "需要", "应该", "應該"),
    *("如果", "因为", "因為", "所以", "但是", "或者", "还是", "還是", "然后", "然後", "已经"),
    *("已經", "没有", "沒有", "不要", "一下", "一些", "一点", "时候", "時候", "之后", "之後"),
    *("以后", "以後", "之前", "以前", "小时", "小時", "分钟", "分鐘", "比较", "比較", "另外"),
    *("其他", "重新", "总是", "總是", "最近", "现在", "現在", "大概", "左右", "这个", "這個"),
    *("那个", "那個", "哪个", "哪個", "每个", "每個", "我们", "我們", "你们", "他们", "自己"),
    *("我家", "你家", "有用", "有什么", "有哪些", "哪些", "哪里", "哪裡", "家里", "家裡", "告诉"),
    *("告訴", "帮我", "幫我", "推荐", "推薦", "建议", "建議", "介绍", "介紹", "觉得", "覺得"),
    *("知道", "使用", "开始", "開始", "设置", "設置", "问题", "問題", "继续", "繼續", "如何"),
    *("老是", "一直", "经常", "經常", "常常", "突然", "马上", "馬上", "平时"),
    *("平時", "通常", "非常", "慢慢", "不停"),
    *("多久", "多长", "多長", "多大", "一次", "几次", "幾次", "几天", "幾天", "几点", "幾點"),
)
_PARTING = frozenset("最是我你您他她它也就还還很把被让讓给給从從为為谁誰而但或因请請吧吗嗎呢啊啥")
"""Characters that are hardly ever part of a name."""

_NEVER_AT_EDGE = frozenset(
    "与與和跟及没沒不怎之所想说說到去来來在要会會能用加先再又太更都两兩几幾多少一二每各该該此其另着"
    "過过得地有才好这這那哪对對向比当當等使可将將若则則且并並以于於由半"
)
_NEVER_FIRST = _NEVER_AT_EDGE | frozenset("后後里裡中外上下前个個条條只次种種位某")
_NEVER_LAST = _NEVER_AT_EDGE | frozenset(
    "了的里裡上下时時后後前个個吃喝买買看做走住找选選跌涨漲留订訂"
)
_NUMBERS = frozenset("三四五六七八九十百千万萬")
_COUNTED = _NUMBERS | frozenset(
    "个個天年月日号號时時点點分块塊元度斤克公米里裡层層间間小周週星只隻次种種位条條份岁歲成倍"
)
"""Characters that make the number before them an amount, unlike in the name `三文鱼`."""

_VERBS = frozenset("带帶住坐走买買找放吃喝选選装裝看做有定订訂留")
"""Verbs at the beginning of a phrase of three characters or more."""

_OFTEN_VERBS = _VERBS | frozenset(
    "加打开開关關换換学學问問写寫读讀听聽跑拿搬洗炒煮切炸煎拍修改删刪"
)

_BEGINNINGS = (
    *("上海", "上班", "上网", "上網", "上课", "上課", "下载", "下載", "下班", "中国", "中國"),
    *("中文", "中药", "中藥"),
    *("中医", "中醫", "中学", "中學", "中心", "外语", "外語", "外卖", "外賣", "外国", "外國"),
    *("前端", "前台", "后端"),
    *("後端", "后台", "後台", "里斯", "里约", "里程", "里脊", "个人", "個人", "条件", "條件"),
    *("条款", "條款"),
    *("种类", "種類", "种子", "種子", "种植", "種植", "位置", "得分", "地图", "地圖", "地铁"),
    *("地鐵", "地址", "好友"),
    *("会议", "會議", "会员", "會員", "会计", "會計", "能源", "能力", "用户", "用戶", "加班"),
    *("加油", "对象", "對象"),
    *("比赛", "比賽", "使馆", "将军", "將軍", "等级", "等級", "要求", "想法", "说明", "說明"),
    *("和尚", "过敏"),
)
"""Words that begin with a character that otherwise begins no name."""

_KANA = re.compile("[\u3040-\u30ff]")
_JAPANESE_NAME = re.compile(
    "[\u30a1-\u30ff]{3,12}|(?<![\u4e00-\u9fff々])(?!何)[\u4e00-\u9fff々]{2,4}(?=[がをにへはでの])"
)
"""A loan word, or kanji before a particle."""

_NOT_FIRST, _NOT_LAST = ("".join(sorted(kind)) for kind in (_NEVER_FIRST, _NEVER_LAST))
_EDGES = re.compile(f"[{''.join(sorted(_NEVER_AT_EDGE))}]")
_LONGEST_NAME = 5
_INNER_VERBS = re.compile(f"[{''.join(sorted(_OFTEN_VERBS))}]")

_IN_WORDS = {"他": "吉", "吧": "酒网網", "请": "申邀聘", "請": "申邀聘", "就": "成", "的": "目"}
"""Characters of `_PARTING` and particles that are part of a word after one of these: `吉他`."""

_SPLIT = re.compile(
    "|".join(
        (
            *_PARTING_WORDS,
            *(f"(?<![{before}]){after}" for after, before in _IN_WORDS.items()),
            f"[{''.join(sorted((_PARTING | PARTICLES) - _IN_WORDS.keys()))}]",
        )
    )
)


def unspaced_phrases(texts: Mapping[int, str], asked: AbstractSet[int]) -> list[Phrase]:
    """All candidates, with the positions of the messages that use them.

    Args:
        texts: The messages by their position.
        asked: Positions of the user's messages, where a whole stretch counts even if used once.
    """
    found: dict[str, set[int]] = {}
    whole: set[str] = set()
    for place, text in texts.items():
        for stretch in stretches_of(text):
            if place in asked:
                whole.add(stretch)
            for piece in _pieces(stretch):
                found.setdefault(piece, set()).add(place)
    names: dict[str, set[int]] = {}
    for place in asked & texts.keys():
        for name in unspaced_names(texts[place]):
            names.setdefault(name, set()).add(place)
    repeated, specific = list(_repeated(found)), list(_specific(found, whole))
    once = [name for name in sorted(names) if not _holds_any(name, repeated)]
    return [
        *(_phrase(piece, found[piece], _REPEATED) for piece in repeated),
        *(_phrase(piece, found[piece], _WHOLE) for piece in specific),
        *(
            _phrase(name, names[name] | found.get(name, set()), _ONCE)
            for name in once
            if name not in specific
        ),
    ]


def _holds_any(name: str, pieces: Collection[str]) -> bool:
    return any(piece in name for piece in pieces)


def _phrase(piece: str, places: set[int], noun: float) -> Phrase:
    aspect = 1.0 if piece.endswith(_aspects()) else 0.0
    return Phrase((piece,), Counter([piece]), places, noun, is_spaced=False, aspect=aspect)


def stretches_of(text: str) -> Iterator[str]:
    """The parts of a text between spaces, marks, and words that can't be part of a name."""
    for run in UNSPACED_RUN.findall(text):
        if is_korean(run):
            yield from filter(None, (korean_noun(run),))
        else:
            yield from (stretch for stretch in _SPLIT.split(run) if len(stretch) >= _FEWEST)


def unspaced_names(text: str) -> Iterator[str]:
    """The stretches of a text that may be names by themselves, in order: `小狗`, `鞋子`."""
    if _KANA.search(text):
        yield from (name for name in _JAPANESE_NAME.findall(text) if name not in _weak())
        return
    for stretch in stretches_of(text):
        parts = [stretch] if is_korean(stretch) else _EDGES.split(stretch)
        for part in (piece for whole in parts for piece in _without_verbs(whole)):
            piece = part if begins_phrase(f"{part} ") else part.lstrip(_NOT_FIRST)
            piece = piece.rstrip(_NOT_LAST)
            if _FEWEST <= len(piece) <= _LONGEST_NAME and _is_name(piece):
                yield piece


def _without_verbs(part: str) -> list[str]:
    """The part; one that is too long for a name is cut at its verbs: `西红柿炒鸡蛋`.

    If a piece is still too long, its end is used, which says most: `申请日本签证`.
    """
    if is_korean(part) or len(part) <= _LONGEST_NAME:
        return [part]
    pieces = _INNER_VERBS.split(part)
    return [piece if len(piece) <= _LONGEST_NAME else piece[-2 * _FEWEST :] for piece in pieces]


def _is_name(piece: str) -> bool:
    return is_korean(piece) or (
        begins_phrase(piece) and _weak().isdisjoint((piece, piece[:2], piece[-2:]))
    )


def begins_phrase(piece: str) -> bool:
    """True if a name can begin with this piece of two characters or more."""
    if piece.startswith(_BEGINNINGS):
        return True
    first = piece[0]
    is_amount = first in _NUMBERS and piece[1] in _COUNTED
    is_verb = first in _VERBS and len(piece) > _FEWEST
    return first not in _NEVER_FIRST and not is_amount and not is_verb


def ends_phrase(piece: str) -> bool:
    """True if a name can end with this piece."""
    return piece[-1] not in _NEVER_LAST


def _pieces(stretch: str) -> Iterator[str]:
    if is_korean(stretch):
        yield stretch
        return
    for begin in range(len(stretch) - 1):
        if not begins_phrase(stretch[begin : begin + _FEWEST]):
            continue
        most = _FEWEST if stretch[begin] in _VERBS else _MOST
        for end in range(begin + _FEWEST, min(len(stretch), begin + most) + 1):
            if stretch[end - 1] not in _NEVER_LAST:
                yield stretch[begin:end]


def _repeated(found: Mapping[str, AbstractSet[int]]) -> Iterator[str]:
    """The pieces that are used again, and not only inside one longer piece."""
    inside: dict[str, set[int]] = {}
    repeated = (piece for piece, places in found.items() if len(places) > 1)
    for piece in sorted(repeated, key=lambda piece: (-len(piece), piece)):
        is_word = piece not in _weak() and not _has_loose_verb(piece, found)
        if is_word and inside.get(piece) != found[piece]:
            yield piece
        for part in _pieces(piece):
            if part != piece:
                inside.setdefault(part, set()).update(found[piece])


def _specific(found: Mapping[str, AbstractSet[int]], whole: Collection[str]) -> Iterator[str]:
    """Whole stretches that end with a piece that is used again: `麻婆豆腐` with `豆腐`."""
    for piece in sorted(found.keys() & set(whole)):
        ends = (found.get(piece[begin:], ()) for begin in range(1, len(piece) - 1))
        if len(found[piece]) == 1 and any(len(places) > 1 for places in ends):
            yield piece


def is_weak(word: str) -> bool:
    """True if a Chinese or Japanese word, or a pair of characters, names no topic."""
    return word in _weak() or not _PARTING.isdisjoint(word)


@cache
def _aspects() -> tuple[str, ...]:
    return tuple(sorted(word for code in ("zh", "ja", "ko") for word in aspect_words_of()[code]))


@cache
def _weak() -> AbstractSet[str]:
    return weak_words_of()["zh"] | weak_words_of()["ja"]


def _has_loose_verb(piece: str, found: Mapping[str, AbstractSet[int]]) -> bool:
    """True if it begins or ends with a verb, and the rest also occurs without that verb."""
    rests = [piece[1:]] * (piece[0] in _OFTEN_VERBS) + [piece[:-1]] * (piece[-1] in _OFTEN_VERBS)
    return any(rest in found and len(found[rest]) > len(found[piece]) for rest in rests)
