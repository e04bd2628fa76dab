"""Characters that nobody sees: told from those that words and emoji are written with."""

import re
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.base.text import unicode_tables
from smart_context.base.text.hidden import hidden_spans

ZWNJ, ZWJ, VS15, VS16 = "\u200c", "\u200d", "\ufe0e", "\ufe0f"


def tags(text):
    return "".join(chr(0xE0000 + ord(character)) for character in text)


def hidden(text):
    return "".join(text[start:end] for start, end in hidden_spans(text))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("The naïve café — “quoted”, 5 °C, n² ≥ 4", id="English"),
        pytest.param("Füße, Straße, Übergröße", id="German"),
        pytest.param(unicodedata.normalize("NFD", "Tiếng Việt rất đẹp"), id="Vietnamese"),
        pytest.param(
            f"می{ZWNJ}خواهم کتاب{ZWNJ}های خانه{ZWNJ}ها را بخوانم؛ سال ۱۳۰۲ ه{ZWJ}.ش", id="Persian"
        ),
        pytest.param("السَّلَامُ عَلَيْكُمْ\u200f (2020)", id="Arabic"),
        pytest.param(f"كار{ZWNJ}ها", id="a joiner after a letter that never joins"),
        pytest.param(f"ئه{ZWNJ}مه{ZWNJ} کورد", id="Kurdish, at the end of a word"),
        pytest.param("שפת C++\u200e היא\u200f! בְּרֵאשִׁ֖ית", id="Hebrew"),
        pytest.param(f"क्{ZWJ}ष और क्{ZWNJ}ष, राष्ट्रीय", id="Hindi"),
        pytest.param(f"র{ZWJ}্যাব, হ্যাঁ, উৎ", id="Bengali"),
        pytest.param(f"අධි{'ක්'}{ZWJ}ෂණ, ශ්{ZWJ}රී ලංකා", id="Sinhala"),
        pytest.param(f"ನನ್{ZWNJ}ನ ರ{ZWJ}್ಕ", id="Kannada"),
        pytest.param("ខ្ញុំ\u200bទៅ\u200bផ្សារ", id="Khmer, with breaks between words"),
        pytest.param("ฉันไปตลาด", id="Thai"),
        pytest.param("简体中文，日本語、한국어 조선말", id="Chinese, Japanese, Korean"),
        pytest.param("葛\U000e0100城市、辻\U000e0101さん", id="Japanese names in their own form"),
        pytest.param("ᠮᠣᠩᠭᠣᠯ᠎ᠠ ᠪᠢᠴᠢᠭ᠌", id="Mongolian"),
        pytest.param(
            f"👩{ZWJ}💻 👩🏽{ZWJ}🚀 ❤{VS16}{ZWJ}🔥 👨{ZWJ}👩{ZWJ}👧{ZWJ}👦", id="joined emoji"
        ),
        pytest.param(f"🏳{VS16}{ZWJ}🌈 🏴{ZWJ}☠{VS16} 🏃🏾{ZWJ}♀{VS16}{ZWJ}➡{VS16}", id="and flags"),
        pytest.param(
            f"1{VS16}\u20e3 #{VS16}\u20e3 ©{VS16} ☎{VS15} ↔{VS16}", id="emoji and symbols"
        ),
        pytest.param("🇩🇪 🇫🇷 👍🏿", id="flags of countries, and tones"),
        pytest.param(
            " ".join(f"🏴{tags(region)}\U000e007f" for region in ("gbeng", "gbsct", "gbwls")),
            id="England, Scotland and Wales",
        ),
        pytest.param("⠓⠑⠇⠇⠕⠀⠺⠕⠗⠇⠙", id="words in braille"),
        pytest.param("∩\ufe00 ≨\ufe00 0\ufe00 、\ufe01", id="standard forms"),
        pytest.param("שָׁ\u034fֽ", id="marks in their order"),
    ],
)
def test_what_words_and_emoji_are_written_with_is_not_hidden(text):
    assert hidden(text) == ""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(f"🏴{tags('hello')}\U000e007f", f"{tags('hello')}\U000e007f", id="no flag"),
        pytest.param(f"a{tags('gbsct')}", tags("gbsct"), id="tags without a flag"),
        pytest.param(f"x{VS16}", VS16, id="a selector on a letter"),
        pytest.param(f"1{VS16}2{VS15}", VS16 + VS15, id="selectors on digits"),
        pytest.param(f"☎{VS16}{VS15}", VS15, id="two selectors"),
        pytest.param("x\U000e0100", "\U000e0100", id="an ideographic selector on a letter"),
        pytest.param("葛\U000e01ef", "\U000e01ef", id="one that no ideograph has"),
        pytest.param(f"a{ZWNJ}b{ZWJ}c", ZWNJ + ZWJ, id="joiners in Latin"),
        pytest.param(f"می{ZWNJ}{ZWNJ}خواهم", ZWNJ * 2, id="two joiners"),
        pytest.param(f"خو{ZWJ}اه", ZWJ, id="a joiner of letters that join"),
        pytest.param(f"👩{ZWJ}a", ZWJ, id="a joiner of an emoji and a letter"),
        pytest.param("a\u200eb", "\u200e", id="a mark of direction in Latin"),
        pytest.param("\u200f one\n\u061ctwo", "\u200f\u061c", id="at the begin of Latin lines"),
        pytest.param("שלו\u200fם", "\u200f", id="inside a word"),
        pytest.param("ש" + " \u200f" * 9, "\u200f", id="more than a line has use for"),
        pytest.param("\u202ea\u2066", "\u202e\u2066", id="overrides and isolates"),
        pytest.param("a\u200bb ก\u200bb", "\u200b\u200b", id="breaks in Latin"),
        pytest.param("\u00ad\u115f\u3164\uffa0\u2060\ufeff", None, id="fillers"),
        pytest.param("\ufff9a\ufffab\ufffb", "\ufff9\ufffa\ufffb", id="annotations"),
        pytest.param("a\u034fb", "\u034f", id="a mark that orders nothing"),
    ],
)
def test_what_is_in_no_use_is_hidden(text, found):
    assert hidden(text) == (text if found is None else found)


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        pytest.param("ש \u200f\nabc \u200f", [(8, 9)], id="the line after"),
        pytest.param("abc \u200f\nש \u200f", [(4, 5)], id="the line before"),
        pytest.param("abc ש\nabc \u200f", [(10, 11)], id="right before the line"),
        pytest.param("abc\nabc \u200f\nש", [(8, 9)], id="right after the line"),
        pytest.param(("ש" + " \u200f" * 8 + "\n") * 2, [], id="each line has its own use"),
        pytest.param("\nש \u200f" + " \u200f" * 8, [(19, 20)], id="but no more"),
    ],
)
def test_marks_of_direction_have_a_use_in_lines_from_right_to_left(text, spans):
    assert list(hidden_spans(text)) == spans


def as_tags(message):
    return tags(message.decode("latin-1").translate({n: 32 + n % 95 for n in range(256)}))


def as_selectors(message):
    return "".join(chr(0xFE00 + b) if b < 16 else chr(0xE0100 + b - 16) for b in message)


def as_bits(zero, one):
    return lambda message: "".join(f"{b:08b}" for b in message).replace("0", zero).replace("1", one)


CARRIERS = st.sampled_from("a 1.é中ש😀م\n")
HIDINGS = st.sampled_from(
    [
        as_tags,
        as_selectors,
        as_bits(ZWNJ, ZWJ),
        as_bits("\u200b", "\u2060"),
        as_bits("\u200e", "\u200f"),
        as_bits("\u2062", "\u2063"),
        as_bits("\u115f", "\u3164"),
    ]
)


@given(st.binary(min_size=1, max_size=20), HIDINGS, CARRIERS, CARRIERS)
def test_a_message_between_two_characters_is_found(message, hide, before, after):
    secret = hide(message)
    found = hidden(f"Hello {before}{secret}{after} world")
    assert len(found) >= len(secret) - 1  # the first may be a selector of what it follows
    assert found in secret


@given(st.binary(min_size=4, max_size=20))
def test_a_message_spread_over_latin_letters_is_found(message):
    for secret in (as_selectors(message), as_bits(ZWNJ, ZWJ)(message), as_tags(message)):
        assert hidden("".join(f"x{character}" for character in secret)) == secret


@pytest.mark.parametrize("text", ["a\u2800b", "\u2800", "Hi\u2800\u2800", "⠓\u2800\u2800⠓"])
def test_the_braille_blank_is_hidden_where_no_braille_is_written(text):
    assert set(hidden(text)) == {"\u2800"}


@given(st.text())
def test_spans_are_in_order_and_hold_nothing_that_is_seen(text):
    spans = list(hidden_spans(text))
    assert spans == sorted(spans)
    assert all(start < end for start, end in spans)
    unseen = re.compile(f"[{unicode_tables.UNSEEN}]*")
    assert unseen.fullmatch(hidden(text))


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param("ש\u200f ", id="marks in one line"),
        pytest.param("a\u200e", id="marks in Latin"),
        pytest.param(f"a{VS16}", id="selectors"),
        pytest.param(f"م{ZWNJ}", id="joiners"),
        pytest.param(ZWJ, id="one run"),
        pytest.param("\u0301\u200c", id="marks and joiners"),
        pytest.param("🏴\U000e0067", id="flags that never end"),
    ],
)
def test_the_work_grows_with_the_length_and_no_faster(piece):
    def seconds(times):
        text = piece * times
        began = time.process_time()
        for _ in hidden_spans(text):
            pass
        return time.process_time() - began

    seconds(1_000)
    assert seconds(20_000) < 40 * max(seconds(2_000), 0.001)
