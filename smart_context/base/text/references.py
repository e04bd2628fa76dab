# ruff: noqa: RUF001 -- words of many scripts; those of one language are easier to check on one line
"""Recognises messages that refer to an earlier one: "and the second one?"."""

import re

from smart_context.base.text.words import content_words

_LONGEST = 160
_LONGEST_BARE = 60
_LITTLE = frozenset(
    (
        *("continu", "explain", "ahora", "maintenant", "chos", "adesso", "agora", "теперь"),
        *("ומה", "עכשיו", "وماذا", "والآن", "الآن", "其他", "何か", "그리", "리고", "고요", "이제"),
    )
)
"""Stems that name no subject, in addition to the stop words."""

_OPENING = re.compile(
    r"\W*(?:(?:and|or|but|what about|how about|why(?: not)?\W*$|how so|like what|which (?:one|of)"
    r"|such as|for example|tell me more|more|others?|anything else|what else|und|oder|aber"
    r"|was ist mit|wie wäre|welche[rs]? davon|warum\W*$|et|ou|mais|pourquoi\W*$|qu'en est-il"
    r"|y|pero|qué tal|por qué\W*$|ma|perché\W*$|mas|por quê\W*$|maar|waarom\W*$|ale|a co z"
    r"|dlaczego\W*$|и|а|но|почему\W*$|ve|peki|neden\W*$|و|لماذا\W*$|ו|אבל|למה\W*$|और|लेकिन)(?!\w)"
    r"|那么?|还有|還有|为什么\W*$|其他|それ|その|では|그럼|그리고|그러면|でも|じゃあ|なぜ)",
    re.IGNORECASE,
)
_POINTING = re.compile(
    r"\b(?:it|its|they|them|their|theirs|this|that|those|these|he|she|him|her|his|hers|one|ones"
    r"|the (?:first|second|third|last|latter|former|other|others|same|next|previous|two|both)"
    r"|das|dies|es|ihn|ihm|ihnen|sein[es]?|diese[rsnm]?|jene[rsnm]?|dessen|deren|davon|dafür|damit|dazu"
    r"|da(?:ran|rauf|rüber|gegen)|ça|cela|celui|celle|ceux|celles|ils|elles|leur|ello|ellos|ellas"
    r"|eso|esto|esos|estos|aquello|quello|questo|lo stesso|isso|isto|aquilo|daarvan|daarmee|ervan"
    r"|hiervan|tego|tym|temu|tego samego|это|этого|этому|этим|этом|его|её|их|bunu|bunun|bunlar|onu"
    r"|onun|ذلك|هذا|هذه|منه|منها|זה|זאת|אותו|אותה|यह|इसे|इसका|इसकी|उसका|इसमें)\b"
    r"|它|他们|她们|它们|這個|这个|那个|那個|这些|那些|これ|それ|あれ|그것|이것|저것",
    re.IGNORECASE,
)


def refers_back(text: str) -> bool:
    """True if a user's message probably refers to earlier messages.

    True for short ones that open as a continuation or use a pronoun. An empty "it" ("is it
    raining?") counts, too: an extra message does less harm than a missing one.
    """
    if not text or len(text) > _LONGEST:
        return False
    return bool(_OPENING.match(text) or _POINTING.search(text))


def names_nothing(text: str) -> bool:
    """True for a short message without a word for a subject: "And now?", "hello there"."""
    return len(text) <= _LONGEST_BARE and _LITTLE.issuperset(content_words(text))
