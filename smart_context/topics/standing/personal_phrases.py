# ruff: noqa: E501 -- the words of one language are easier to check on one line
"""Phrases of facts that people state about themselves, by language.

Regular expressions for the beginning of a lower-cased message with single spaces.
"""

_KIN = (
    r"(?:(?:elder|older|younger|little|big|late) )?(?:wife|husband|partner|boyfriend|girlfriend"
    r"|mother|father|mom|mum|dad|parents|sister|brother|siblings|sons?|daughters?|kids?|child"
    r"|children|aunt|uncle|cousins?|niece|nephew|grand(?:ma|pa|mother|father|parents|son|daughter)"
    r"|family|friends?|dogs?|cats?|pets?)"
)
_OFTEN = (
    r"(?:(?:really|also|always|usually|mostly|mainly|generally|rarely|barely|hardly|never|often"
    r"|only|just|absolutely|quite|still|recently|already|both) )*"
)
_NOT = r"(?:(?:do not|don't|does not|doesn't|can't|cannot|can not|couldn't) )?"
_THING = (
    r"(?!(?:it|this|that|the|these|those|your|you|how|what|them|him|her|where|when|if|option"
    r"|number|both|neither|either|to (?:see|know|use|have|add|make|get|try|build|do|write|go with"
    r"|keep))\b)"
)
_TASTE = r"(?:like|love|enjoy|prefer|hate|dislike|adore|avoid|can't stand)s?"
_HABIT = (
    r"(?:eat|drink|smoke|exercise|cook|drive|commute|speak|read|sleep|travel|shop|play|practise"
    r"|practice|collect|swim|ski|hike)s?"
)
_ILL = (
    r"(?:allerg\w+|intoleran\w+|injur\w+|asthma|diabet\w+|migraines?|epilep\w+|adhd|dyslexi\w+"
    r"|arthritis|condition|disease|disorder|phobia|pregnan\w+|deficiency|disabilit\w+)"
)
_OWN = (
    r"(?:kids?|child(?:ren)?|sons?|daughters?|dogs?|cats?|pets?|sisters?|brothers?|siblings?"
    r"|wife|husband|partner|degree|diploma|ph\.?d|driving licen[cs]e|commute|balcony|garden)"
)
_TRAIT = (
    r"(?:(?:a|an|also|strictly|severely|highly|mildly|very|quite|really|only|mostly|not|both) )*"
    r"(?:allergic|vegetarian|vegan|pescatarian|diabetic|lactose|gluten|coeliac|celiac|introverted"
    r"|extroverted|colou?r-?blind|dyslexic|deaf|blind|left-handed|retired|unemployed|married|single"
    r"|divorced|pregnant|religious|muslim|jewish|hindu|christian|buddhist|kosher|halal|afraid of"
    r"|scared of|interested in|into (?!the |a |an |this |it)|fond of|on an? (?:\S+ )?(?:diet|plan)"
    r"|from (?!the |a )|based in|born in|\d+ (?:years?|cm|kg|lbs?|pounds|feet|kilos?)"
    r"|(?:native )?(?:american|british|english|irish|scottish|canadian|australian|indian|chinese"
    r"|japanese|korean|german|austrian|swiss|french|spanish|italian|portuguese|dutch|belgian"
    r"|swedish|danish|norwegian|finnish|polish|czech|russian|ukrainian|turkish|greek|brazilian"
    r"|mexican|nigerian|egyptian|iranian|pakistani|african|asian|european)\b)"
)
_TRADE = (
    r"(?:a|an|the|my) (?!bit\b|little\b|lot\b|few\b|couple\b|week\b|day\b|month\b|step\b|total\b"
    r"|complete beginner\b|huge\b|long way\b|loss\b)"
)

_WHEN = r"(?:today,? |yesterday,? |last (?:week|month|year),? |recently,? )?"

LASTING: tuple[str, ...] = (
    rf"(?:and |also,? |well,? |btw,? |by the way,? )*i(?:'m| am) {_TRAIT}",
    rf"(?:and |also,? |well,? |btw,? |by the way,? )*i(?:'m| am) {_TRADE}[^.,;:]{{3,60}}\.?$",
    rf"(?:i|we) {_NOT}{_OFTEN}{_TASTE} {_THING}[\w']",
    rf"(?:i|we) {_NOT}{_OFTEN}{_HABIT}\b(?! (?:it|this|that|the|these|those|your|about|from)\b)",
    (
        r"(?:i|we) (?:can't|cannot|can not|do not|don't|must not|should not) (?:eat|drink|exercise"
        r"|have (?:any )?(?:dairy|gluten|nuts|sugar|alcohol|meat))\b"
    ),
    (
        r"(?:i|we) (?:currently |now |still |both )?(?:live|grew up|was born|were born) "
        r"(?:in|near|on|with|alone)\b"
    ),
    r"i (?:work|study|studied|worked) (?:as|at|for|in) (?!progress|parallel|it\b|this|that|the )",
    rf"(?:i|we) (?:have|suffer from|had) (?:\S+ ){{0,3}}{_ILL}",
    (
        rf"(?:i|we) (?:have|don't have) (?:an?|no|any|one|two|three|four|five|many|my) "
        rf"(?:\S+ ){{0,2}}{_OWN}\b"
    ),
    rf"(?:my|our) {_KIN} (?:is|are|has|have|{_NOT}{_OFTEN}(?:{_TASTE}|{_HABIT}|lives?|works?))\b",
    (
        r"(?:ich|wir) (?:bin|sind) (?:(?:ein|eine|auch|seit|strikt|sehr) )*(?:allergisch|vegetarier"
        r"|vegan|schwanger|\d+ (?:jahre|cm)|lehrer|student|rentner|anfänger|aus [a-zäöü]+\.?$)"
    ),
    (
        r"(?:ich|wir) (?:wohne|wohnen|lebe|leben|arbeite als|mag|mögen|liebe|lieben|hasse|esse|essen"
        r"|trinke|spiele) (?!es\b|das\b|die\b|den\b|diese)"
    ),
    (
        r"mein[e]? (?:frau|mann|mutter|vater|tochter|sohn|kinder|schwester|bruder|tante|onkel|oma|opa"
        r"|hund|katze) (?:ist|sind|hat|haben|mag|mögen|liebt|wohnt|lebt|isst)\b"
    ),
    (
        r"(?:je suis (?:un |une )?(?:allergique|végétarien|végan|diabétique|enceinte|étudiant|professeur"
        r"|retraité)|j'(?:habite|adore|aime)|je (?:n'aime pas|déteste|mange|ne mange pas|vis)) "
        r"?(?!ça\b|cela\b|ce\b|cette\b)"
    ),
    (
        r"(?:ma|mon|mes) (?:femme|mari|mère|père|fille|fils|enfants|sœur|frère|tante|oncle|chien|chat) "
        r"(?:est|sont|a|ont|aime|aiment|habite)\b"
    ),
    (
        r"(?:soy (?:un |una )?(?:alérgic|vegetarian|vegan|diabétic|profesor|estudiant|jubilad)"
        r"|vivo en|(?:no )?me (?:gusta|gustan|encanta|encantan) (?!es[ot]|la idea|lo)|(?:no )?como )"
    ),
    (
        r"mi(?:s)? (?:esposa|mujer|marido|esposo|madre|padre|hija|hijo|hijos|hermana|hermano|tía|tío"
        r"|perro|gato) (?:es|son|tiene|tienen|vive|viven)\b"
    ),
    (
        r"我(?:是(?!说|想|问|不是)|(?:不|很|最|特别|非常)?(?:喜欢|喜歡|爱|愛|讨厌|討厭)(?!这|那|這|你)|住在|"
        r"不吃|不喝|不能吃|今年\S{1,3}岁|家里有|有(?:一|两|三|几)(?:个|只|條|条)(?:孩子|女儿|儿子|狗|猫|貓))"
    ),
    (
        r"我(?:的)?(?:妻子|太太|丈夫|老公|老婆|妈妈|媽媽|爸爸|女儿|女兒|儿子|兒子|孩子|朋友)"
        r"(?:是|很|不|喜欢|喜歡|对|對|住)"
    ),
    r"(?:私|わたし|僕|ぼく)は\S{1,20}(?:です|が好きです|に住んでいます|アレルギー)",
)
"""Tastes, traits, health, home, work and family."""

TOLD: tuple[str, ...] = (
    (
        rf"{_WHEN}(?:i|we)(?:'ve| have)? "
        r"(?:(?:just|recently|already) )?(?:bought|purchased|owned?|travell?ed|visited|gained|got|had"
        r"|have|don't have|do not have|cannot|can't|hold an?|take the|found the|respect"
        r"|started (?:my|an?)(?! \w+ing\b)|changed my|will (?:stay|be staying|travel|visit|move)) "
        rf"(?!to\b){_THING}\w"
    ),
    rf"{_WHEN}(?:i|we)(?:'ve| have)? (?:just |recently |already )?(?:travell?ed|moved) to \w",
    r"(?:bought|purchased|travell?ing to|living in|working as) (?:an?|some|two|\w+)\b",
    r"because of my \w",
    r"(?:it is|it's) (?:very |really |so )?(?:difficult|hard|easy|important) for me\b",
    rf"(?:my|our) {_KIN} \w",
    r"(?:most|all|some) of my \w",
    r"i(?:'m| am) (?:willing|used|able|unable) to\b",
)
"""Possessions, deeds and plans."""

OWN_LIFE = (
    rf"\bmy (?:{_KIN}|favou?rite|job|boss|school|house|home|car)\b"
    r"|\bi (?:live|work|study|grew up) (?:in|at|as|for|with)\b"
)
"""Phrases about one's own life, anywhere in a message; assistants never use them."""

PASSING: tuple[str, ...] = (
    r"^(?:i|we)(?:'d| would| want| need| think| guess| see| mean| wonder| hope| wish)\b",
    r"\b(?:please|could you|can you|would you|help me|tell me|show me|give me|let's|let us)\b",
    (
        r"\b(?:error|exception|bug|crash\w*|fails?|failed|doesn't work|does not work|not working|stuck"
        r"|confus\w+|wrong|broken)\b"
    ),
    (
        r"\b(?:function|class|script|code|server|api|database|table|column|csv|json|file|repo\w*"
        r"|deploy\w*|query|queries|module|package|commit|branch|docker|endpoint|variable)s?\b"
    ),
    r"\bhow (?:do|can|should|would|to)\b",
)
"""Signs of a request, or of work at hand."""
