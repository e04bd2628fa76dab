# ruff: noqa: RUF001, E501 -- words of many scripts; those of one language are easier to check on one line
"""Phrases of standing instructions, by language.

Regular expressions for a lower-cased message; a space matches any white space.
"""

BEGIN = r"(?:^|[.!?;,:\n] ?|\bplease |\band |\balso |\bbut )"
"""Matches where a clause may begin."""
_SAY = r"(?:answer|reply|respond|write)"
_LANGUAGE = (
    r"(?:\w+ ){0,2}(?:english|german|french|spanish|italian|portuguese|dutch|chinese|japanese"
    r"|korean|russian|polish|swedish|danish|turkish|arabic|hindi)"
)
_BRIEF = r"(?:concise|brief|short|terse|succinct|formal|informal|polite|simple|casual|critical)"
_EVERYTHING = (
    r"(?:code|prices|numbers|amounts|units|dates|examples|answers|replies|text|names|temperatures"
    r"|distances|measurements)"
)

ENGLISH = (
    r"\bfrom (?:now|here|this point) on(?:wards?)?\b",
    r"\bgoing forward\b",
    r"\bthroughout (?:this|the|our)\b",
    r"\bfor the (?:rest|remainder|whole|entire|duration)\b",
    r"\b(?:for|in|during) (?:this|our) (?:whole |entire )?(?:chat|conversation|session|thread)\b",
    (
        r"\b(?:in|for|with) (?:all|every|each) (?:of )?(?:your |the )?"
        r"(?:answer|reply|replies|response|message|example)"
    ),
    r"\b(?:please|you should|you must|make sure to|remember to|i want you to) (?:always|never)\b",
    (
        r"(?:^|[.!?;:\n] ?)(?:(?:and|also|but|so|hi|hello)[,!.]? )*(?:please )?(?:always|never) "
        r"(?:use|answer|reply|respond|write|give|include|add|suggest|explain|assume|format|put|end"
        r"|start|keep|be|stay|show|mention|call|say|ask|make|cite|avoid|recommend|propose|apologi[sz]e)\b"
    ),
    r"\balways (?:use|answer|reply|respond|write in|cite|format)\b",
    (
        BEGIN + _SAY + r" (?:(?:to )?me |everything |only |all |always |back )*(?:in|with|using) "
        r"(?:"
        + _LANGUAGE
        + r"|bullet|short|plain|simple|full sentences|one sentence|markdown|rhyme)"
    ),
    (
        BEGIN + r"(?:be|stay|keep (?:your |the |all )?(?:answers?|replies|responses|it all|"
        r"explanations)) (?:(?:very|more|as|rather) )?" + _BRIEF + r"\b"
    ),
    (
        r"\bi(?:'d| would)? (?:always )?prefer (?:(?:your|short|long|concise|brief|detailed)\b"
        r"|(?:metric|answers|replies|code|examples) )"
    ),
    BEGIN + r"(?:call|address) me \w",
    BEGIN + r"remember(?: that| this|[,:])",
    r"\b(?:keep|bear) in mind\b",
    (
        BEGIN
        + r"(?:don't|do not|don\u2019t|never) (?:ever |use (?:any )?(?:emojis?|jargon|markdown|"
        r"tables|bullet|abbreviations|exclamation)|apologi[sz]e|flatter|sugarcoat)"
    ),
    BEGIN + r"no (?:emojis?|jargon|preamble|filler|small talk|fluff)\b",
    (
        r"\bi(?:'m|\u2019m| am) (?:(?:a|an|also|strictly|severely|highly) )*(?:allergic|vegetarian"
        r"|vegan|pescatarian|diabetic|lactose|gluten|coeliac|celiac|colou?r-?blind|dyslexic|deaf)\b"
    ),
    BEGIN + r"act as (?:a|an|my|if)\b",
    r"^you are (?:now )?(?:a|an|my) ",
    (
        BEGIN + r"use (?:only )?(?:metric|imperial|si|british|american) (?:\w+ )?(?:units|spelling"
        r"|english)"
    ),
    (
        BEGIN
        + r"(?:(?:write|give|show|format|put|quote|state) (?:me )?|please )?all (?:the )?"
        + _EVERYTHING
        + r" (?:should be |must be |are to be )?(?:in|as|with)\b"
    ),
    (
        BEGIN + r"when(?:ever)? you (?:write|answer|reply|show|give|suggest|explain|recommend)\b"
        r"[^.?!]{0,40}, (?:please )?(?:always|never|add|include|use|avoid|put|mention|cite)\b"
    ),
    BEGIN + r"explain (?:everything|all things) ",
    BEGIN + r"stop (?:apologi[sz]ing|using|repeating|adding|flattering|thanking)\b",
    BEGIN + r"(?:speak|talk) to me (?:like|as|in)\b",
    (
        BEGIN + r"avoid (?:using |any |all )?(?:technical|jargon|emojis?|bullet|adverbs|acronyms"
        r"|abbreviations|markdown|tables|clich|filler|the passive|passive|long (?:words|sentences))"
    ),
)
GERMAN = (
    r"\bab (?:jetzt|sofort|nun)\b",
    r"\bvon (?:jetzt|nun) an\b",
    r"\bkünftig\b",
    r"\bin zukunft\b",
    (
        r"\b(?:in|für|während) (?:diese[mns]?|diesen|dieser|de[mnr]|das) (?:ganzen? |gesamten? )?"
        r"(?:chat|gespräch|unterhaltung|sitzung)\b"
    ),
    r"\bbitte (?:immer|nie|niemals|stets)\b",
    (
        r"\b(?:antworte|antworten sie|schreibe?|schreiben sie|sprich) "
        r"(?:mir |bitte |nur |immer |stets )*"
        r"(?:auf|in (?:\w+ )?(?:sätzen|stichpunkten)|kurz|knapp)\b"
    ),
    r"\b(?:duze?|sieze?|nenne?) mich\b",
    r"\b(?:fasse? dich|halte? dich|fassen sie sich) (?:bitte )?kurz\b",
    r"\b(?:merke? dir|denke? (?:immer )?daran|merken sie sich)\b",
    r"\bich bin (?:allergisch|vegetarier|veganer|diabetiker|laktose)",
    r"\bantworte(?:n sie)? (?:mir |bitte )*(?:immer|stets|nur|nie|niemals)\b",
    r"\b(?:schreibe?|schreiben sie|formuliere) (?:mir |bitte |nur |immer )*(?:ohne|einfach)\b",
    (
        BEGIN + r"(?:bitte )?(?:verwende|benutze|nutze|verwenden sie|benutzen sie) (?:bitte )?"
        r"(?:nie|niemals|immer|stets|keine?n?|nur)\b"
    ),
    (
        BEGIN
        + r"(?:bitte )?(?:gib |schreib )?(?:mir )?alle (?:preise|angaben|beträge|einheiten|maße"
        r"|zahlen|temperaturen|antworten|beispiele) (?:bitte |immer |stets )*(?:in|mit)\b"
    ),
    r"\b(?:sprich|sprechen sie) (?:mich|mit mir) (?:bitte )?(?:mit|per|wie|auf)\b",
    r"\berkläre? (?:mir )?(?:bitte )?(?:immer )?alles\b",
)
FRENCH = (
    r"\b(?:désormais|dorénavant)\b",
    r"\bà partir de maintenant\b",
    r"\b(?:dans|pour|pendant) (?:toute )?(?:cette|la) (?:conversation|discussion|session)\b",
    (
        r"\b(?:réponds|répondez|écris|écrivez)(?:-moi)? (?:toujours|seulement|uniquement|brièvement"
        r"|en (?:\w+ )?(?:français|anglais|phrases|une phrase))"
    ),
    r"\b(?:utilise|utilisez|évite|évitez) toujours\b",
    r"\b(?:tutoie|vouvoie)[sz]?[- ]moi\b",
    r"\b(?:sois|soyez|reste|restez) (?:bref|brève|concis|concise)",
    r"\bje suis (?:allergique|végétarien|végan|diabétique|intolérant)",
    BEGIN + r"n['\u2019](?:utilise|emploie|utilisez|employez)s? (?:jamais|pas|plus|aucun)",
    BEGIN + r"ne (?:me |m['\u2019])?\w+ jamais\b",
    r"\bà l['\u2019]avenir, ",
    BEGIN + r"(?:donne|donnez|écris|écrivez)(?:-moi)? (?:toujours|tous les|toutes les)\b",
)
SPANISH = (
    r"\b(?:a partir de ahora|de ahora en adelante|de aquí en adelante)\b",
    r"\b(?:en|durante|para) (?:toda )?(?:esta|la) (?:conversación|charla|sesión)\b",
    (
        r"\b(?:responde|respóndeme|contesta|contéstame|escribe|responda|conteste) "
        r"(?:siempre|sólo|solo|brevemente|en (?:\w+ )?(?:español|inglés|castellano|frases))"
    ),
    r"\b(?:sé|sea) (?:breve|conciso|concisa)\b",
    (
        r"(?:^|[.!?;,:\n] ?|\by |por favor,? )(?:siempre|nunca) "
        r"(?:uses?|utilices?|utiliza|usa|respond\w+|escrib\w+|añad\w+|incluy\w+|me)\b"
    ),
    r"\b(?:trátame|tutéame|háblame) de\b",
    r"\bsoy (?:alérgic[oa]|vegetarian[oa]|vegan[oa]|diabétic[oa]|celíac[oa])\b",
    (
        BEGIN + r"no (?:uses|utilices|emplees|añadas|incluyas|me (?:des|recomiendes|propongas"
        r"|sugieras))\b"
    ),
    BEGIN + r"(?:usa|utiliza|emplea|usar|utilice|use) siempre\b",
    BEGIN + r"en adelante\b",
    BEGIN + r"tod[oa]s l[oa]s (?:precios|respuestas|unidades|medidas|ejemplos) (?:en|con)\b",
)
OTHERS = (
    r"\bd['\u2019]ora in (?:poi|avanti)\b",
    r"\brispond(?:i|imi|a) (?:sempre|solo|in (?:italiano|inglese)|brevemente)\b",
    r"\b(?:sii|sia) (?:breve|conciso|concisa)\b",
    r"\b(?:a partir de agora|de agora em diante)\b",
    r"\bresponda(?:-me)? (?:sempre|só|apenas|em (?:português|inglês))\b",
    r"\bseja (?:breve|conciso|concisa)\b",
    r"\b(?:vanaf nu|voortaan)\b",
    r"\bantwoord (?:altijd|alleen|in het|kort)\b",
    r"\b(?:parli|scrivi|scriva) (?:sempre|solo|in (?:italiano|inglese))\b",
    r"\brispond(?:i|imi|a|ere) (?:per favore )?(?:sempre|solo|in|brevemente)\b",
    r"\b(?:responde|responda|responder|escreve|escreva)(?:-me)? (?:sempre|só|apenas|em português)\b",
    r"\b(?:antwoord|schrijf|reageer) (?:mij |me )?(?:alsjeblieft |a\.u\.b\. )?(?:voortaan|altijd|alleen|steeds|in het)\b",
    r"\b(?:repond|réponds|répondez)(?:-moi)?,? (?:s'il (?:te|vous) plaît,? )?(?:toujours|en français)\b",
    r"\b(?:od teraz|odtąd|na przyszłość|w tej rozmowie)\b",
    (
        r"\b(?:odpowiadaj|odpisuj|pisz|mów|odpowiadajcie|proszę odpowiadać)(?: mi)? "
        r"(?:proszę )?(?:zawsze|tylko|wyłącznie|po \w+|krótko|zwięźle|na przyszłość)\b"
    ),
    r"\b(?:zawsze|nigdy nie) (?:odpowiadaj|pisz|używaj|podawaj|dodawaj)\b",
    r"\bbundan (?:sonra|böyle)\b",
    (
        r"\b(?:her zaman|daima|hep|sadece|yalnızca) (?:türkçe |ingilizce |kısa |bana |ve )*"
        r"(?:cevap|yanıt|yaz|konuş|kullan)"
    ),
    r"\b(?:türkçe|ingilizce) (?:olarak )?(?:cevap ver|yanıt ver|yaz|yanıtla|cevapla)",
    r"\b(?:cevapları|yanıtları|cevaplarını|yanıtlarını) (?:hep |her zaman )?(?:kısa|türkçe)",
    r"\b(?:отныне|впредь|с этого момента|с этой минуты)\b",
    (
        r"\b(?:всегда|только) (?:отвечай|отвечайте|пиши|пишите|используй|используйте|указывай"
        r"|указывайте|давай ответы)\b"
    ),
    r"\bобращайся ко мне\b|\b(?:никогда не) (?:используй|пиши|предлагай)(?:те)?\b",
    r"\b(?:отвечай|отвечайте|пиши|пишите) (?:мне )?(?:всегда|только|кратко|на \w+ языке|по-)",
    r"\b(?:من الآن فصاعدا|من الان فصاعدا|في هذه المحادثة|طوال المحادثة)",
    (
        r"\b(?:أجب|اجب|أجبني|اجبني|جاوب|جاوبني|رد|اكتب|أكتب|تحدث|تكلم)(?: (?:علي|لي|معي))? "
        r"(?:(?:من فضلك|رجاء) )?(?:دائما|دائمًا|فقط|باختصار|باللغة|بالعربية|بالعربي|بإيجاز)"
    ),
    r"\b(?:دائما|دائمًا) (?:أجب|اجب|اكتب|استخدم|جاوب)|\bلا تستخدم (?:أبدا|أبدًا|ابدا)",
    r"\b(?:أريد|اريد|أفضل) (?:إجابات|اجابات|ردود)",
    r"\b(?:מעכשיו|מכאן והלאה|מהיום|בשיחה הזאת|לאורך השיחה)\b",
    (
        r"\b(?:תענה|תעני|ענה|עני|השב|השיבי|תכתוב|כתוב|תכתבי)(?: לי)?(?: בבקשה,?)? "
        r"(?:תמיד|רק|בקצרה|בעברית)"
    ),
    r"\b(?:תמיד|אף פעם אל) (?:תענה|תעני|ענה|תכתוב|כתוב|תשתמש)",
    r"(?:अब से|आगे से|इस बातचीत में|पूरी बातचीत)",
    (
        r"(?:हमेशा|सदा|केवल|सिर्फ|सिर्फ़) (?:मुझे |संक्षेप में )?(?:हिंदी|हिन्दी|अंग्रेज़ी|संक्षेप|छोटे)?"
        r"(?: में)? ?(?:ही )?(?:जवाब|उत्तर|लिख)"
    ),
    r"(?:हमेशा|सदा|केवल|सिर्फ) (?:(?:हिंदी|हिन्दी|अंग्रेज़ी|संक्षेप) में |ही |और )+(?:जवाब|उत्तर|लिख)",
    r"(?:हिंदी|हिन्दी) में (?:ही )?(?:जवाब|उत्तर|लिख|बात)|(?:जवाब|उत्तर) (?:हमेशा|संक्षेप|छोटे)",
)
EAST_ASIAN = (
    "从现在起|从现在开始|從現在起|從現在開始|今后都|以后都|以後都",
    "(?:今后|今後|以后|以後)(?:请|請|所有|每次|回答|的回答)|一律(?:用|使用|以)",
    "(?:请|請)(?:不要|别|別)(?:再|使用|用)",
    "(?<![我他她它们們])(?:一直|始终|总是|始終|總是|永远)(?:都)?(?:用|以|使用|要|保持)",
    (
        "用(?:简体|繁体|簡體|繁體)?(?:中文|汉语|漢語|英文|英语|英語|日语|日語|普通话)(?:来)?"
        "(?:简短|简单|简洁|簡短|簡單|簡潔)?地?(?:回答|回复|回覆|交流)"
    ),
    "(?:这次|這次|本次|整个|整個|在这个|在這個)(?:对话|對話|聊天|会话|交谈)",
    "(?:回答|回复|回覆)(?:都|时|時)?(?:请|請|要|尽量|儘量)(?:简短|简洁|簡短|簡潔|详细)",
    "(?:请|請)(?:尽量|儘量|保持)?(?:简短|简洁|簡短|簡潔)(?!地?(?:的)?(?:介|说|說|解|描|总|總|概|讲|講|列|翻|写|寫))",
    "(?:请|請)?记住|記住",
    "我(?:对|對).{1,8}过敏|我是素食",
    "今後は|これからは|この会話では|(?:常に|必ず|いつも).{0,12}(?:答えて|回答|書いて)",
    "日本語で(?:答えて|回答|お願い)|簡潔に(?:答えて|お願い)",
    "(?:用|以)(?:中文|英文|汉语|漢語)(?:跟我|和我)?(?:说|說|聊|写|寫)|(?:只|都)用(?:中文|英文)",
    "(?:返事|回答|返答)は(?:いつも|常に|必ず|短く|日本語)|(?:短く|簡潔に|敬語で)(?:答えて|回答)",
    "(?:짧게|간단히|존댓말로|반말로) (?:답|대답|말해)|이 대화에서는|답변은 (?:항상|짧게|한국어)",
    "앞으로|(?:항상|언제나).{0,12}(?:답|대답)|한국어로 (?:답|대답)",
)

PHRASES: tuple[str, ...] = (*ENGLISH, *GERMAN, *FRENCH, *SPANISH, *OTHERS, *EAST_ASIAN)
