import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.base.text.words import content_words, stem, words


@pytest.fixture(autouse=True)
def nothing_is_remembered():
    """Each test stems its words itself."""
    stem.cache_clear()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Hello, World!", ["hello", "world"], id="lower-cased without punctuation"),
        pytest.param("get_user_id", ["get_user_id", "get", "user", "id"], id="snake_case"),
        pytest.param("getHTTPServer", ["gethttpserver", "get", "http", "server"], id="camelCase"),
        pytest.param("__init__ _x", ["init", "x"], id="underscores around a name"),
        pytest.param("éB", ["éb"], id="letters that are not told apart as camelCase"),
        pytest.param("JWT", ["jwt"], id="an abbreviation is one word"),
        pytest.param("C++ and C#", ["c++", "and", "c#"], id="languages with signs"),
        pytest.param("ｆｕｌｌ　ｗｉｄｔｈ", ["full", "width"], id="full width"),
        pytest.param("数据库", ["数据", "据库"], id="Chinese as pairs"),
        pytest.param("我", ["我"], id="a single character"),
        pytest.param("用Python写", ["用", "python", "写"], id="scripts side by side"),
        pytest.param("Größe über", ["größ", "über"], id="German letters"),
        pytest.param("Миграция базы", ["миграция", "базы"], id="Cyrillic"),
        pytest.param("ภาษา", ["ภา", "าษ", "ษา"], id="Thai as pairs"),
        pytest.param("", [], id="nothing"),
        pytest.param("… — !", [], id="punctuation only"),
    ],
)
def test_words_of(text, expected):
    assert words(text) == expected


@pytest.mark.parametrize(
    "forms",
    [
        ["migration", "migrations", "migrate", "migrated", "migrating"],
        ["city", "cities"],
        ["run", "runs", "running"],
        ["cache", "caches", "cached", "caching"],
        ["password", "passwords"],
        ["user", "users", "user's", "user’s"],
        ["authentification", "l'authentification"],
    ],
    ids=lambda forms: forms[0],
)
def test_forms_of_one_word_meet(forms):
    assert len({stem(form) for form in forms}) == 1


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        *[("cities", "citi"), ("city", "citi"), ("copied", "copi"), ("day", "day")],
        *[("classes", "class"), ("dishes", "dish"), ("churches", "church"), ("boxes", "box")],
        *[("waltzes", "waltz"), ("cats", "cat"), ("boys", "boy"), ("houses", "hous")],
        *[("status", "status"), ("basis", "basis"), ("class", "class"), ("bus", "bus")],
        *[("singing", "sing"), ("sing", "sing"), ("eating", "eat"), ("using", "using")],
        *[("string", "string"), ("walked", "walk"), ("seeds", "seed"), ("played", "play")],
        *[("running", "run"), ("falling", "fall"), ("kissed", "kiss"), ("buzzed", "buzz")],
        *[("migration", "migrat"), ("station", "stat"), ("nation", "nation")],
        *[("house", "hous"), ("tree", "tree"), ("migrate", "migrat"), ("cafe", "cafe")],
        *[("python3", "python3"), ("is", "is"), ("数据", "数据"), ("d'accord", "accord")],
    ],
)
def test_a_stem_is_the_word_without_its_commonest_endings(word, expected):
    assert stem(word) == expected


@pytest.mark.parametrize(
    "pair", [("status", "state"), ("bus", "bu"), ("class", "clas"), ("sing", "s"), ("red", "r")]
)
def test_different_words_stay_apart(pair):
    assert stem(pair[0]) != stem(pair[1])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("What is the plan for the garden?", ["plan", "garden"], id="English"),
        pytest.param("Wie geht das mit der Steuer?", ["geht", "steuer"], id="German"),
        pytest.param("Comment est le vin ?", ["vin"], id="French"),
        pytest.param("¿Cómo es la casa?", ["casa"], id="Spanish"),
        pytest.param(
            "我想去京都", ["去京", "京都"], id="Chinese keeps names with common characters"
        ),
        pytest.param("可以吗", [], id="Chinese without content"),
    ],
)
def test_content_words_leave_out_what_says_nothing(text, expected):
    assert content_words(text) == expected


@given(st.text(max_size=60))
def test_content_words_are_words_in_their_order(text):
    everything = iter(words(text))
    assert all(word in everything for word in content_words(text))


@given(st.text(max_size=60))
def test_words_are_never_empty_unless_they_are_left_out(text):
    assert all(content_words(text))
