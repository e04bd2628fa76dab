"""The grammars of the languages that we know, as far as names go."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from smart_context.text.stopwords import STOP_WORDS, STOP_WORDS_OF
from smart_context.topics.naming.grammar import Grammar
from smart_context.topics.naming.weak_words import WEAK_WORDS, WEAK_WORDS_OF

_KNOWN_SHARE = 0.2


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _joins(text: str) -> frozenset[str]:
    return frozenset(phrase.strip() for phrase in text.split(","))


def _stops(code: str, *more: frozenset[str]) -> frozenset[str]:
    return STOP_WORDS_OF[code].union(WEAK_WORDS_OF.get(code, ()), *more)


_EN_ARTICLES = _set(
    """a an the my your our his her its their this these those any no each every another which
    whose some"""
)
_EN_PREPOSITIONS = _set(
    """of in on for with from at by about between into without over under after before during
    against through near as per via onto inside outside beside within across"""
)
_EN_AUXILIARIES = _set(
    """can could should would will must may might shall do does did is are was were has have had
    don't doesn't didn't can't couldn't shouldn't wouldn't isn't aren't wasn't weren't won't"""
)
_EN_BEFORE_VERBS = _EN_AUXILIARIES | _set(
    """i you he she we they it who to not never cannot let's let please be been being am i'm it's
    i've we've you've they've i'd we'd you'd i'll we'll you'll that's there's"""
)
_ENGLISH = Grammar(
    code="en",
    stop_words=_stops("en", _EN_ARTICLES, _EN_PREPOSITIONS, _EN_BEFORE_VERBS),
    articles=_EN_ARTICLES,
    prepositions=_EN_PREPOSITIONS,
    before_verbs=_EN_BEFORE_VERBS,
    auxiliaries=_EN_AUXILIARIES,
    noun_endings=(
        *("tion", "sion", "ment", "ness", "ity", "ance", "ence", "ship", "ism", "age", "ist"),
        *("ogy", "ery", "tions", "sions", "ments", "ities", "ists"),
    ),
    other_endings=(
        *("ing", "ed", "ly", "er", "est", "ful", "ous", "ive", "able", "ible", "less", "ish"),
        *("ward", "wards", "wise", "ize", "ise", "ify", "ic", "al", "n't"),
    ),
    has_compounds=True,
)

_DE_ARTICLES = _set(
    """der die das den dem des ein eine einen einem einer eines mein meine meinen meinem meiner
    dein deine deinen deinem deiner sein seine ihr ihre ihren unser unsere euer eure kein keine
    keinen dieser diese dieses diesen diesem jeder jede jedes jeden welche welcher welches"""
)
_DE_PREPOSITIONS = _set(
    """von mit für bei aus nach zu in an auf über unter vor zwischen durch gegen ohne um im am vom
    zum zur beim ins ans pro per ab seit während wegen trotz"""
)
_DE_BEFORE_VERBS = _set("ich du er sie es wir man nicht ist sind war wird werden kann soll muss")
_GERMAN = Grammar(
    code="de",
    stop_words=_stops("de", _DE_ARTICLES, _DE_PREPOSITIONS, _DE_BEFORE_VERBS),
    articles=_DE_ARTICLES,
    prepositions=_DE_PREPOSITIONS,
    before_verbs=_DE_BEFORE_VERBS,
    joins=_joins("mit, für, im, am, auf, in, ohne, gegen, nach, aus"),
    inflections=("en", "er", "es", "n", "e", "s"),
    has_capital_nouns=True,
)

_NL_ARTICLES = _set(
    """de het een mijn jouw zijn haar ons onze jullie hun uw dit dat deze die geen elke elk welke
    welk"""
)
_NL_PREPOSITIONS = _set(
    "van in op aan met voor bij uit naar over onder door tussen zonder tegen om per tijdens sinds"
)
_NL_BEFORE_VERBS = _set("ik jij je hij zij ze wij we u te niet kan kun moet wil zal is zijn wordt")
_DUTCH = Grammar(
    code="nl",
    stop_words=_stops("nl", _NL_ARTICLES, _NL_PREPOSITIONS, _NL_BEFORE_VERBS),
    articles=_NL_ARTICLES,
    prepositions=_NL_PREPOSITIONS,
    before_verbs=_NL_BEFORE_VERBS,
    joins=_joins("van, met, voor, in, op"),
    noun_endings=("ing", "heid", "teit", "tie", "ment", "schap"),
    other_endings=("lijk", "lijke", "ig", "ige", "end", "ende"),
)

_FR_ARTICLES = _set(
    """le la les l' un une des du au aux mon ma mes ton ta tes son sa ses notre nos votre vos leur
    leurs ce cet cette ces quel quelle quels quelles chaque plusieurs"""
)
_FR_PREPOSITIONS = _set("de d' à en dans sur sous avec sans pour par chez entre vers contre")
_FR_BEFORE_VERBS = _set(
    """je j' tu il elle on nous vous ils elles ne n' se s' me m' te t' y qui qu' que lui pas peut
    peux doit dois faut va vais suis est sont ai as avons avez ont été être"""
)
_FRENCH = Grammar(
    code="fr",
    stop_words=_stops("fr", _FR_ARTICLES, _FR_PREPOSITIONS, _FR_BEFORE_VERBS),
    articles=_FR_ARTICLES,
    prepositions=_FR_PREPOSITIONS,
    before_verbs=_FR_BEFORE_VERBS,
    joins=_joins("de, d', du, des, de la, de l', au, aux, à, à la, à l', en"),
    noun_endings=("tion", "sion", "té", "isme", "ance", "ence", "ure", "eur", "age", "ment"),
    other_endings=(
        *("er", "ir", "oir", "re", "ant", "é", "ée", "és", "ées", "ez", "ent", "ment", "ait"),
        *("eux", "euse", "ons", "it"),
    ),
    adjective_endings=(
        *("ique", "iques", "aire", "aires", "el", "elle", "al", "ale", "if", "ive", "eux"),
        *("euse", "ien", "ienne", "ais", "aise", "able", "ible", "el", "els", "elles"),
    ),
    infinitive_endings=("er", "ir", "re"),
    head_first=True,
)

_ES_ARTICLES = _set(
    """el la los las un una unos unas mi mis tu tus su sus nuestro nuestra nuestros nuestras este
    esta estos estas ese esa esos esas cada otro otra qué algún alguna ningún ninguna al del"""
)
_ES_PREPOSITIONS = _set("de a en con sin por para sobre entre desde hasta hacia contra")
_ES_BEFORE_VERBS = _set(
    """yo tú él ella nosotros ellos ellas ustedes usted se me te nos no lo le les que puedo puede
    puedes debo debe hay quiero va vamos voy es son está están ha han he"""
)
_SPANISH = Grammar(
    code="es",
    stop_words=_stops("es", _ES_ARTICLES, _ES_PREPOSITIONS, _ES_BEFORE_VERBS),
    articles=_ES_ARTICLES,
    prepositions=_ES_PREPOSITIONS,
    before_verbs=_ES_BEFORE_VERBS,
    joins=_joins("de, del, de la, de los, de las, por, con, a, en"),
    noun_endings=("ción", "sión", "dad", "tad", "miento", "ismo", "anza", "encia", "ancia", "aje"),
    other_endings=(
        *("ar", "er", "ir", "arlo", "arla", "ando", "iendo", "ado", "ada", "ido", "ida", "mente"),
        *("ados", "adas", "oso", "osa", "ivo", "iva", "amos", "emos"),
    ),
    adjective_endings=(
        *("ico", "ica", "icos", "icas", "al", "ales", "ario", "aria", "oso", "osa", "ivo", "iva"),
        *("ano", "ana", "able", "ible", "és", "esa", "ante", "ente"),
    ),
    infinitive_endings=("ar", "er", "ir", "arlo", "arla", "erlo", "irlo", "arme", "arse"),
    head_first=True,
)

_IT_ARTICLES = _set(
    """il lo la i gli le l' un uno una un' mio mia miei mie tuo tua suo sua nostro nostra questo
    questa questi queste quel quella quei quest' ogni del dello della dei degli delle dell' al
    allo alla ai agli alle all' dal dalla dai dalle dall' nel nello nella nei nelle nell' sul
    sulla sui sulle sull'"""
)
_IT_PREPOSITIONS = _set("di d' a in con su per tra fra da senza sotto sopra verso contro")
_IT_BEFORE_VERBS = _set(
    """io tu lui lei noi voi loro si mi ti ci vi non che chi ho ha hai abbiamo hanno è sono sei
    posso può puoi devo deve vorrei voglio"""
)
_ITALIAN = Grammar(
    code="it",
    stop_words=_stops("it", _IT_ARTICLES, _IT_PREPOSITIONS, _IT_BEFORE_VERBS),
    articles=_IT_ARTICLES,
    prepositions=_IT_PREPOSITIONS,
    before_verbs=_IT_BEFORE_VERBS,
    joins=_joins("di, d', del, dello, della, dei, degli, delle, dell', al, alla, in, a, da, con"),
    noun_endings=("zione", "sione", "tà", "mento", "ismo", "anza", "enza", "aggio", "tura"),
    other_endings=(
        *("are", "ere", "ire", "arlo", "arla", "ando", "endo", "ato", "ata", "ito", "ita", "uto"),
        *("mente", "oso", "osa", "ivo", "iva", "iamo", "ati", "ate"),
    ),
    adjective_endings=(
        *("ico", "ica", "ici", "iche", "ale", "ali", "ario", "aria", "oso", "osa", "ivo", "iva"),
        *("ano", "ana", "abile", "ibile", "ese"),
    ),
    infinitive_endings=("are", "ere", "ire", "arlo", "arla", "arsi"),
    head_first=True,
)

_PT_ARTICLES = _set(
    """o a os as um uma uns umas do da dos das no na nos nas ao à aos às pelo pela meu minha meus
    minhas teu tua seu sua seus suas nosso nossa este esta esse essa cada outro outra qual"""
)
_PT_PREPOSITIONS = _set("de em com sem por para sobre entre desde até contra")
_PT_BEFORE_VERBS = _set(
    """eu tu ele ela nós você vocês eles elas se me te lhe não que quem posso pode devo deve vou
    vai é são está estão foi há quero"""
)
_PORTUGUESE = Grammar(
    code="pt",
    stop_words=_stops("pt", _PT_ARTICLES, _PT_PREPOSITIONS, _PT_BEFORE_VERBS),
    articles=_PT_ARTICLES,
    prepositions=_PT_PREPOSITIONS,
    before_verbs=_PT_BEFORE_VERBS,
    joins=_joins("de, do, da, dos, das, com, em, a, por"),
    noun_endings=("ção", "são", "dade", "mento", "ismo", "ança", "ência", "ância", "agem"),
    other_endings=("ar", "er", "ir", "ando", "endo", "indo", "ado", "ada", "ido", "ida", "mente"),
    adjective_endings=("ico", "ica", "al", "ais", "ário", "ária", "oso", "osa", "ivo", "ável"),
    infinitive_endings=("ar", "er", "ir"),
    head_first=True,
)

UNKNOWN = Grammar(code="", stop_words=STOP_WORDS | WEAK_WORDS)
GRAMMARS: Mapping[str, Grammar] = MappingProxyType(
    {
        grammar.code: grammar
        for grammar in (_ENGLISH, _GERMAN, _FRENCH, _SPANISH, _ITALIAN, _PORTUGUESE, _DUTCH)
    }
)


def grammar_of(words: Sequence[str]) -> Grammar:
    """The grammar of the language that lower-cased words are most likely in."""
    if not words:
        return UNKNOWN
    known = {code: sum(word in stops for word in words) for code, stops in STOP_WORDS_OF.items()}
    code = max(known, key=known.__getitem__)
    return GRAMMARS[code] if known[code] >= _KNOWN_SHARE * len(words) else UNKNOWN
