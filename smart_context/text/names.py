"""Names of files as they can be shown on one line, and as they can be encoded."""

import re

_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def shown(path: str) -> str:
    """A path on one line that can be encoded: control and direction marks become escapes."""
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), path)


def encodable(path: str) -> str:
    """A path with what is no UTF-8 in it as escapes, for JSON."""
    return path.encode("utf-8", "backslashreplace").decode()
