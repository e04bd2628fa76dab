"""Passwords and keys without a form of their own, recognised by the name that they are assigned to.

A value counts if it looks random: small and capital letters, digits and other characters take turns
in it, as they do in no word, name, path or version.
"""

import base64
import binascii
import math
import re
from collections import Counter
from itertools import pairwise
from urllib.parse import unquote

from smart_context.packing.files.secret_kinds import is_example

# Nearly all random values have a digit early, and few others do.
_VALUE = (
    r"""(?=["'`]?[^\s"'`0-9]{0,40}+[0-9])"""
    r"""(?:["'`](?P<quoted>[^\s"'`\\]{8,200}+)["'`]"""
    r"""|(?P<bare>(?:[^\s"'`\\(){}\[\]<>,;&=:]|&(?!\w+=)){8,200}+={0,2})(?=["'`\s;&,<]|\\[nr]|$))"""
)
_SCHEME = r"(?:(?:Bearer|Basic|Token|token)[ ])"
_ASSIGNMENTS = (
    re.compile(rf"=>?[ ]?{_VALUE}"),
    re.compile(rf":[ ]{{0,8}}+{_VALUE}"),
    re.compile(rf"""uthorization["'`]?[ ]?[:=][ ]?["'`]?{_SCHEME}{_VALUE}"""),
    re.compile(rf"define\([ ]?['\"]\w{{1,40}}['\"],[ ]?{_VALUE}"),
    re.compile(rf"assword>{_VALUE}"),
)
_NAME = re.compile(
    r"""(?ix) (?P<password> passw(?:or)?t | passw(?:or)?d | passphrase | pwd )
    | (?P<key> (?<!public_)(?<!public)(?: secret | (?<!publickey)token | (?:api|access|account|
      app|private|auth|encrypt(?:ion)?|sign(?:ing)?|master|service|license|shared|admin|deploy|
      client)[_-]?key ) )
    """
)
_NAME_ENDS = re.compile(
    r"""(?ix) (?:[_-]?(?:secret|access|key|token|value|b(?:ase)?64|prod(?:uction)?|dev|live|staging|
    main|old|new|[0-9]{1,2}))*+ ["'`]?\]?\s*+ (?::\s?(?:str|string))? [\s=:>,"'`]*+ \Z"""
)
_AUTHORIZED = re.compile(
    r"""(?ix) (?:authorization|_?auth) ["'`]?\s*[=:][\s"'`]*(?:(?:bearer|basic|token)\s)? \Z"""
)
_CREDENTIALS = re.compile(
    r"""://[^\s:/@"'`<>]{0,64}:(?P<value>[^\s:/@"'`<>\\]{6,120})@(?P<host>[\w.-]{1,80})"""
)
# Not secrets: references to one, paths and addresses, dotted and hyphenated names.
_REFERENCE = re.compile(
    r"(?i)[$#%@]\{|\{\{|\$\(|^[$%*./~@:|^-]|://|%\(|\s|^(?:[a-z_]+[.:-])+[a-z_]+[0-9]{0,3}$|%s|\?$"
)
# Parts of names in code, which random values don't have.
_NAMELY = re.compile(r"(?i)token|key|secret|passw|auth")
# Passwords are chosen by people, so these are the examples and defaults in documents.
_WEAK = re.compile(
    r"(?i)pass(?:w(?:or)?d|phrase)|p[a@4][s$5]{1,2}w[o0]rd|secret|test|admin|hunter|foo|qwerty|letmein"
    r"|welcome|1234|abc|user|login|demo|default|value|string|hello|tiger|changeit|sample"
)
_LONGEST_NAME = 60
_LEAST_OF_A_KEY, _SURELY_A_KEY = 16, 24
_LEAST_BITS, _SURE_BITS = 3.0, 3.7
_PLAIN = re.compile(r"[\w+/=.~-]+")


def assigned_in(text: str) -> str:
    """The kind of the first password or key that a text assigns; empty if there is none."""
    for assignment in _ASSIGNMENTS:
        if any(_is_secret(text, found) for found in assignment.finditer(text)):
            return "a key or password in an assignment"
    for found in _CREDENTIALS.finditer(text):
        if "example" not in found["host"].lower() and _is_password(unquote(found["value"])):
            return "a password in an address"
    return ""


def _is_secret(text: str, assignment: re.Match[str]) -> bool:
    value = unquote(assignment["quoted"] or assignment["bare"]).rstrip(".:")
    end = assignment.start("quoted") if assignment["quoted"] else assignment.start("bare")
    start = max(0, end - _LONGEST_NAME)
    line = text[max(start, text.rfind("\n", start, end) + 1) : end]
    telling = [*_NAME.finditer(line)]
    if not telling:
        return _AUTHORIZED.search(line) is not None and _is_authorization(value)
    last = telling[-1]
    if _NAME_ENDS.match(line, last.end()) is None:
        return assignment["quoted"] is not None and _is_surely_a_key(value)
    return _is_password(value) if last["password"] else _is_key(value) or _is_surely_a_key(value)


def _is_password(value: str) -> bool:
    kinds = {*map(_kind, value)}
    return (
        len(value) >= 8  # noqa: PLR2004  shorter ones are too often words
        and len(kinds) >= 2  # noqa: PLR2004  of the four kinds of characters
        and _looks_random(value)
        and _WEAK.search(value) is None
    )


def _is_key(value: str) -> bool:
    return (
        len(value) >= _LEAST_OF_A_KEY
        and _looks_random(value)
        and _bits_per_character(value) >= _LEAST_BITS
    )


def _is_surely_a_key(value: str) -> bool:
    return (
        len(value) >= _SURELY_A_KEY
        and _PLAIN.fullmatch(value) is not None
        and not _is_named(value)
        and {"a", "0"} <= {_kind(character).lower() for character in value}
        and _bits_per_character(value) >= _SURE_BITS
    )


def _is_authorization(value: str) -> bool:
    """True for `user:password` in base64, or something that looks like a token."""
    try:
        words = base64.b64decode(value, validate=True).decode()
    except (binascii.Error, ValueError):
        return len(value) >= _SURELY_A_KEY and _is_key(value)
    user, colon, _ = words.partition(":")
    return bool(user and colon) and words.isprintable() and not is_example(value)


def _looks_random(value: str) -> bool:
    turns = sum(_kind(one) != _kind(other) for one, other in pairwise(value))
    limit = 4 if len(value) >= _SURELY_A_KEY else 3
    return turns * limit >= len(value) - 1 and any(map(str.isalpha, value)) and not _is_named(value)


def _is_named(value: str) -> bool:
    """True for a reference, a name in code or an example."""
    return any(words.search(value) for words in (_REFERENCE, _NAMELY)) or is_example(value)


def _kind(character: str) -> str:
    if character.isdigit():
        return "0"
    if character.isalpha():
        return "A" if character.isupper() else "a"
    return "."


def _bits_per_character(text: str) -> float:
    shares = [count / len(text) for count in Counter(text).values()]
    return -sum(share * math.log2(share) for share in shares)
