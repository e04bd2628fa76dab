import pytest

from smart_context.topics.clusters import keywords
from smart_context.topics.naming.candidates import phrases_of


def phrases(*texts):
    return {phrase.text for phrase in phrases_of(texts, [list(range(len(texts)))])}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param(
            ["look at the tomato plant"],
            {"tomato", "plant", "tomato plant"},
            id="a noun and what tells more of it",
        ),
        pytest.param(["the tomato, the leaf"], {"tomato", "leaf"}, id="not across a comma"),
        pytest.param(["the new Python 3.11 with 20 kWh"], {"Python"}, id="no numbers and no units"),
        pytest.param(
            ["on the node.js server"], {"node.js", "server", "node.js server"}, id="inner points"
        ),
        pytest.param(["I know the capital of Canada", "is it the capital of Canada?"],
                     {"capital", "Canada", "capital of Canada"}, id="what joins a noun and a name"),
        pytest.param(["we play Call of Duty", "is Call of Duty new?"],
                     {"Call", "Duty", "Call of Duty"}, id="a name keeps its weak words"),
        pytest.param(["the smell of the bread"], {"bread"}, id="weak words join nothing"),
        pytest.param(["the crust of the bread"], {"crust", "bread"},
                     id="English joins nouns that are said once side by side only"),
        pytest.param(["a power of attorney", "the power of attorney"],
                     {"power", "attorney", "power of attorney"}, id="or what is said again"),
        pytest.param(["the crowd cheering"], {"crowd", "cheering"}, id="a gerund ends no name"),
        pytest.param(["of course the bread"], {"bread"}, id="no fixed expressions"),
        pytest.param(["Wie wird das Brot am besten?"], {"Brot"},
                     id="German: joined nouns have capitals"),
        pytest.param(["your booking WBB6XXRP on the train TR9635"], {"booking", "train"},
                     id="no reference numbers"),
        pytest.param(["she really brings joy to the crowd"], {"brings", "joy", "crowd"},
                     id="no verb before its object"),
        pytest.param(["It has been booked.Your reference is here"], {"booked", "reference"},
                     id="a new sentence without a space"),
        pytest.param(["see `foo_bar` https://x.y/z"], set(), id="no code and no addresses"),
        pytest.param(["Ich mag Brot mit Käse im Ofen"], {"Brot", "Käse", "Ofen",
                     "Brot mit Käse", "Käse im Ofen"}, id="German: nouns and what joins them"),
        pytest.param(["le pain au levain de la maison est dans le four"],
                     {"pain", "levain", "maison", "four", "pain au levain", "levain de la maison"},
                     id="French: the noun comes first"),
        pytest.param(["quiero el huerto urbano"], {"huerto", "urbano", "huerto urbano"},
                     id="Spanish: the adjective comes last"),
        pytest.param(["mi perro tira mucho", "la pasta fresca", "una pasta fresca"],
                     {"perro", "tira", "pasta", "fresca", "pasta fresca"},
                     id="Spanish: what follows once may be a verb"),
        pytest.param(["数据库迁移", "数据库优化"], {"数据库"}, id="Chinese: the longest repeated"),
        pytest.param(["为什么？因为数据库"], {"数据库"}, id="Chinese: what a question says once"),
        pytest.param(["我家小狗把鞋子都咬坏了，有什么办法？"], {"小狗", "鞋子", "咬坏"},
                     id="Chinese: no words of a request"),
        pytest.param(["我们十月去里斯本"], {"里斯本"},
                     id="Chinese: a name that begins like a word of place"),
        pytest.param(["コーヒーメーカーから水が漏れます。面接が必要ですか"],
                     {"コーヒーメーカー", "面接"},
                     id="Japanese: loan words, kanji before a particle"),
        pytest.param(["5월에 서울로 이사 가요. 강아지가 신발을 물어뜯어요"],
                     {"서울", "이사", "강아지", "신발"}, id="Korean: nouns without particles"),
        pytest.param(["어떻게 하면 좋을까요?", "고양이는 데리고 나가야 해요"], {"고양이"},
                     id="Korean: no verbs"),
        pytest.param(["去青城山", "到青城山站", "我想看青城山"], {"青城山"},
                     id="Chinese: no verb at its edge"),
        pytest.param(["麻婆豆腐怎么做？", "先放豆腐"], {"豆腐", "麻婆豆腐"},
                     id="Chinese: a whole stretch that ends with a word"),
        pytest.param(["两个小时", "三个小时", "一个小时"], set(), id="Chinese: no amounts"),
        pytest.param(["Sırtım ağrıyor, hangi doktora gitmeliyim?"], {"Sırtım", "doktora"},
                     id="Turkish: no verbs"),
        pytest.param(["the leaves are turning yellow"], {"leaves", "turning"},
                     id="no name ends with an adjective"),
        pytest.param(["mit 800 Watt nach Süden. Nimm das Modul"], {"Süden", "Modul"},
                     id="units join nothing"),
        pytest.param(["Seit ich im Büro sitze, hilft das Sitzen wenig"], {"Büro", "Sitzen"},
                     id="German: what is in lower case is no noun"),
        pytest.param(["Übe ab dem vierten Tag am Fenster"], {"Fenster"},
                     id="German: no request at the beginning of a sentence"),
        pytest.param(["ich brauche tomaten"], {"tomaten"},
                     id="German: unless nothing has a capital"),
        pytest.param(["ein Ausflug nach Sintra"], {"Ausflug", "Sintra", "Ausflug nach Sintra"},
                     id="German: what joins a noun and its direction"),
        pytest.param(["wir ziehen von Köln nach Leipzig"], {"Köln", "Leipzig"},
                     id="German: the two ends of a way are no name"),
        pytest.param(["onze puppy bijt alle schoenen", "de zwarte puppy"],
                     {"puppy", "bijt", "zwarte", "schoenen", "zwarte puppy"},
                     id="Dutch: only an adjective modifies a noun"),
        pytest.param(["Ankara'dan İzmir'e hangi şirket ile taşınıyoruz"],
                     {"Ankara", "İzmir", "şirket"},
                     id="Turkish: names end before the apostrophe"),
        pytest.param(["깜빡 잊을 뻔했어요"], {"깜빡"}, id="Korean: no verbs of two syllables"),
        pytest.param(["", "the of and"], set(), id="nothing"),
    ],
)  # fmt: skip
def test_phrases_that_could_name_a_topic(texts, expected):
    assert phrases(*texts) == expected


@pytest.mark.parametrize(
    ("text", "phrase", "aspect"),
    [
        ("what about the ticket price", "ticket price", 1),
        ("what about the hotel price", "hotel price", 0.5),
        ("what about the hotel price", "hotel", 0),
        ("je cherche le prix du billet", "prix du billet", 1),
        ("我想知道房间的价格", "价格", 1),
        ("객실 요금을 알려 주세요", "요금", 1),
    ],
)
def test_what_is_asked_of_many_things_is_hardly_a_subject(text, phrase, aspect):
    found = phrases_of([text, text], [[0, 1]])
    assert {each.text: each.aspect for each in found}[phrase] == aspect


def test_forms_of_a_phrase_are_one_by_its_commonest_spelling():
    (phrase,) = phrases_of(["the Migrations", "a migration", "the migration"], [[0, 1, 2]])
    assert phrase.text == "migration"
    assert phrase.places == {0, 1, 2}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param(["the json", "some JSON"], "JSON", id="an acronym"),
        pytest.param(["the langgraph", "our langgraph", "the LangGraph"], "LangGraph", id="inside"),
        pytest.param(["Migration", "the migration"], "Migration", id="not at a sentence's begin"),
    ],
)  # fmt: skip
def test_what_has_capitals_inside_is_written_with_them(texts, expected):
    (phrase,) = phrases_of(texts, [list(range(len(texts)))])
    assert phrase.text == expected


def test_only_the_places_asked_for_are_read():
    assert {p.text for p in phrases_of(["the tomato", "the bike"], [[1]])} == {"bike"}


def test_a_word_of_one_phrase_only_is_its_fragment():
    texts = ["the heat pump", "a heat pump", "no pump", "the heat pump", "this heat pump"]
    fragments = {p.text: p.is_fragment for p in phrases_of(texts, [list(range(5))])}
    assert fragments == {"heat": True, "pump": True, "heat pump": False}


def test_of_many_long_messages_the_beginnings_are_read():
    texts = ["the bread " + "and so on " * 200 + "the oven"] * 1_000
    assert phrases(*texts[:1]) == {"bread", "oven"}
    assert phrases(*texts) == {"bread"}


def test_what_only_an_answer_says_once_is_no_whole_stretch():
    texts = ["先放豆腐", "嫩豆腐"]
    assert {p.text for p in phrases_of(texts, [[0, 1]], answers={1})} == {"豆腐"}
    assert {p.text for p in phrases_of(texts, [[0, 1]])} == {"豆腐", "嫩豆腐"}


def test_keywords_set_a_group_apart_from_the_others():
    texts = ["tax return form", "tax form", "bike form", "bike tour form"]
    first, second, none = keywords.Keywords().of(texts, [[0, 1], [2, 3], []])
    assert first[0] == "tax"
    assert second[0] == "bike"
    assert first[-1] == second[-1] == "form"
    assert none == ()


def test_of_a_chat_that_goes_on_only_the_new_and_changed_texts_are_split_again(monkeypatch):
    split = []
    words = keywords.spelled_words
    monkeypatch.setattr(keywords, "spelled_words", lambda text: split.append(text) or words(text))
    known = keywords.Keywords()
    texts = ["prune apple trees", "apple trees in spring", "jazz guitar chords", "a guitar solo"]
    known.of(texts, [[0, 1], [2, 3]])
    split.clear()
    grown = [*texts[:3], "a sailing boat", "boats under sail"]
    found = known.of(grown, [[0, 1], [2], [3, 4]])
    assert split == grown[3:]
    assert found == keywords.Keywords().of(grown, [[0, 1], [2], [3, 4]])


def test_keywords_are_at_most_as_many_as_asked_for_and_one_of_each_word():
    (found,) = keywords.Keywords().of(["user users user's guitar", "users chord"], [[0, 1]], most=2)
    assert len(found) == 2
    assert found[0] == "user"
