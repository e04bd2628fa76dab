import pytest

from smart_context.topics.naming.words import (
    NounEvidence,
    grammar_of,
    grammars,
    plain_text,
    tokens_of,
    unknown_grammar,
)


def evidence_of(code, *texts):
    grammar = grammars()[code]
    evidence = NounEvidence()
    for text in texts:
        evidence.read(tokens_of(plain_text(text, 999), grammar), grammar)
    return evidence, grammar


@pytest.mark.parametrize(
    ("code", "text", "noun", "other"),
    [
        pytest.param("en", "the dough that we braid", "dough", "braid", id="after an article"),
        pytest.param("en", "we knead with flour", "flour", "knead", id="after a preposition"),
        pytest.param("en", "I debugged the reducer", "reducer", "debugged", id="after a pronoun"),
        pytest.param("en", "the pod kills its parent", "pod", "kills", id="before an article"),
        pytest.param("en", "a migration is faster", "migration", "faster", id="by its ending"),
        pytest.param("en", "the dough of taking", "dough", "taking", id="a gerund"),
        pytest.param("en", "the dough, a positive change", "dough", "positive", id="an adjective"),
        pytest.param(
            "en",
            "The dough. Appreciate you. Appreciate you! Appreciate it",
            "dough",
            "appreciate",
            id="a pronoun after",
        ),
        pytest.param("en", "Would melatonin soothe me", "melatonin", "soothe", id="in a question"),
        pytest.param("de", "Stell die Tomaten kühler", "tomaten", "kühler", id="German capitals"),
        pytest.param("de", "im Mai blühen Stauden lange", "stauden", "blühen", id="German verbs"),
        pytest.param("fr", "je pétris la pâte", "pâte", "pétris", id="French"),
        pytest.param("fr", "pour cuire le pain", "pain", "cuire", id="a French infinitive"),
        pytest.param("fr", "la batterie tient-elle", "batterie", "tient", id="a French question"),
        pytest.param("es", "para plantar en macetas", "macetas", "plantar", id="Spanish"),
        pytest.param("hi", "मेरे लैपटॉप में धीमा", "लैपटॉप", "धीमा", id="Hindi: before its particle"),
        pytest.param("nl", "onze puppy bijt alle", "puppy", "bijt", id="Dutch: what follows it"),
        pytest.param("it", "non stendo la sfoglia", "sfoglia", "stendo", id="Italian"),
    ],
)
def test_a_noun_is_told_from_another_word_by_its_use(code, text, noun, other):
    evidence, grammar = evidence_of(code, text)
    assert evidence.share(noun, grammar) > 0.3
    assert evidence.share(noun, grammar) > evidence.share(other, grammar) + 0.2


def test_a_participle_is_doubtful_unless_it_is_used_like_a_noun():
    evidence, grammar = evidence_of("en", "mine are so spoiled", "water the seedbed")
    assert evidence.is_doubtful("spoiled", grammar)
    assert not evidence.is_doubtful("seedbed", grammar)


def test_the_more_a_word_is_used_as_a_noun_the_surer_it_is():
    once, grammar = evidence_of("en", "the dough")
    often, _ = evidence_of("en", *["the dough"] * 9)
    assert 0.9 < often.share("dough", grammar) > once.share("dough", grammar)


def test_a_verb_with_s_after_a_noun_is_less_sure_than_a_noun():
    evidence, grammar = evidence_of("en", "my knee hurts when", "my heat pump when")
    assert evidence.share("hurts", grammar) < 0.3 < evidence.share("pump", grammar)


def test_names_are_what_is_written_with_a_capital_inside_a_sentence():
    evidence, _ = evidence_of("en", "Bread and Kyoto. Bread of LangGraph", "with bread in Kyoto")
    assert evidence.is_name("kyoto")
    assert evidence.is_name("langgraph")
    assert not evidence.is_name("bread")
    assert not evidence.is_name("never said")


def test_units_are_what_mostly_stands_after_a_number():
    evidence, _ = evidence_of("en", "10 kWh of 20 panels", "8.5 kWh", "the panels", "our panels")
    assert evidence.is_unit("kwh")
    assert not evidence.is_unit("panels")
    assert not evidence.is_unit("never said")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("how do i get a crust that is crisp", "en"),
        ("wie stelle ich die gangschaltung richtig ein", "de"),
        ("comment démarrer un levain pour mon pain", "fr"),
        ("cuándo se cosechan los tomates del huerto", "es"),
        ("posso congelare la pasta con le uova", "it"),
        ("quando você vai para a praia com os amigos", "pt"),
        ("hoe lang moet het deeg in de koelkast", "nl"),
        ("jak długo trwa podróż do krakowa", "pl"),
        ("kuinka kauan matka rovaniemelle kestää", ""),
        ("", ""),
    ],
)
def test_the_language_is_told_by_its_small_words(text, code):
    assert grammar_of(text.split()).code == code


def test_in_a_language_that_is_not_known_every_word_may_be_a_noun():
    assert NounEvidence().share("podróż", unknown_grammar()) > 0.4


WITHOUT_SOME = {"hi", "pl", "ru", "tr"}
"""Languages that have no articles, or no words for what prepositions say."""


@pytest.mark.parametrize("code", sorted(grammars()))
def test_what_serves_grammar_is_no_part_of_a_name(code):
    grammar = grammars()[code]
    for words in (grammar.articles, grammar.prepositions, grammar.before_verbs):
        assert words or code in WITHOUT_SOME
        assert words <= grammar.stop_words


@pytest.mark.parametrize(
    ("code", "one", "other"),
    [("de", "welpe", "welpen"), ("de", "tomate", "tomaten"), ("en", "panel", "panels")],
)
def test_forms_of_a_noun_meet(code, one, other):
    assert grammars()[code].key(one) == grammars()[code].key(other)


def test_a_short_german_noun_keeps_its_ending():
    assert grammars()["de"].key("see") == "see"
