"""What reads a stranger's text takes time in proportion to its length, whatever it holds."""

import pytest

from smart_context.base.text.html_markdown import markdown_of
from smart_context.base.text.names import without_unseen
from smart_context.chat.messages import Message, MessageId
from smart_context.llm.echoes import RepeatedKeys
from smart_context.packing.files.secret_scan import find_secret, find_secrets, secret_in
from smart_context.topics.naming.acceptance import accepted
from smart_context.topics.naming.naming import plain_name
from smart_context.topics.summaries.claims import unsupported
from smart_context.vault.guarded.ignore import parse_ignore
from smart_context.vault.markdown.front_matter import links_in_properties, names_in, properties_of
from smart_context.vault.markdown.notes import canvas_outline, outline_of
from tests.growth.clock import MOST_GROWTH, growth


def repeated(piece, *, before="", after=""):
    """A worst case: a text of about that length that says one thing again and again."""

    def make(length):
        return before + piece * max(1, (length - len(before) - len(after)) // len(piece)) + after

    return make


def cases(function, *texts, longest=1 << 17):
    """A table's rows: a function, and the texts that may be worst for it."""
    return [
        pytest.param(function, make, longest, id=f"{function.__name__}-{shown(make)}")
        for make in (repeated(text) if isinstance(text, str) else text for text in texts)
    ]


def shown(make):
    text = make(120)
    return ascii(text if len(text) <= 24 else f"{text[:16]}…{text[-6:]}")[1:-1].replace("::", ": :")


def tags_of(text):
    return names_in(properties_of(text), "tags")


HTML = (
    *("<p>a <b>b</b> <a href='https://x.org'>l</a></p>", "<div>", "<b>", "<!--", "<", "&#"),
    *("<table><tr><td>", "<blockquote>a", "<ul><li>a", "<a ", "<a href='", '<a a="', "</b>", "<!"),
    *("<script>", "<code>`", "<pre>`</pre>", "<a href=http://x>", "<b>a<i>b<s>c", "a<br>", "<td>"),
    *("*", "`", "_", "&", "# ", "- ", "-", "1.", "=\n", "<br>-", "\\", "]"),
)


def property_links(text):
    return links_in_properties(text, len(text))


def ignored(text):
    """A file held against an ignore file that grows."""
    parse_ignore.cache_clear()
    rules = parse_ignore(text)
    return rules and [rules.verdict(f"src/abc/{name}.component.tsx") for name in "abcdefghij"]


def ignored_deep(text):
    """A path that grows held against hostile patterns."""
    rules = parse_ignore("*a*b*c*d\n**/a/**/b/**/c\n/a/*/b/**\n[!a]*[b-z]*\n")
    return rules.verdict(text)


def looked_up(text):
    """A summary whose every word is a claim, in a chat that is as long and has none of them."""
    said = Message(id=MessageId("m"), role="user", content="lorem " * (len(text) // 6))
    return unsupported(text, [said])


def numbered(length):
    return " ".join(f'a/b{n} "c d{n}" {n} Xa{n}y' for n in range(length // 30))


ECHOES = RepeatedKeys(("sk-or-v1-0123456789abcdef", "&<aa\\aa%a1"))


def without_keys(text):
    return ECHOES.text(text)


def before_a_key(text):
    return ECHOES.split(text)


def label_of(text):
    return accepted(text[:200], [text], frozenset({"ann"}))


def named(text):
    """A group of one text whose words are all refused as names."""
    return plain_name([text], frozenset())


def secrets_in_many(text):
    return find_secrets((f"{number}.py", text[:5000]) for number in range(len(text) // 5000))


def secrets_of_environment(text):
    return find_secret(".env", text)


MARKS = ("<!--", "$$", "%%", "`", "``", "```", "$a", "$1", "\\a", "~~~", "[[", "- ", "%%%", "` ``")
NOTES = (
    *MARKS,
    *(repeated(f"{mark} ", before="x") for mark in MARKS),
    *(repeated(f"{mark}\n") for mark in MARKS),
    *(repeated(f"> {mark}\n", before="> ") for mark in MARKS),
    *("[", "![[", "\\", "> ```\n", "a\n-", "~~~\n\n", "^a\n\n"),
    *("[[a", "[[a|", "[[a]]", "![[a#b]] ", "[[\n", "](", "](a)", "[a](b)", '](a "b" ', "](<"),
    *(
        "](a(b)",
        "](a](b)",
        "]('",
        "](%20)",
        "#",
        " #a",
        "\n#",
        "\n# a",
        "a\n===\n",
        "\n==",
        "---\n",
    ),
    *(" ^a", "\n^a\n", "a\n^a\n", "x ^a\n", "- ", "> ", "1. ", "- ```\n", "```a`\n"),
    *("\n", " ", "\t", "\r", "a", "é", "- a ^b\n", "\n\n"),
    *(repeated(" ", before="[a]("), repeated("\t", before="[a](b", after="x")),
    *(repeated(" ", before="# "), repeated(" ", before="a\n===", after="x")),
    *(repeated(" ", before="^a", after="x"), repeated(" ", before="```", after="`")),
    *(repeated(" <!--", before="x"), repeated("~~~ ", before="- "), repeated("[[", after="]]")),
    *(repeated(" ", before="$a", after="$"), repeated("`` `", before="x ")),
    *("- a `b` $c\n", "# a `b`\n", "> a `b`\n\n", "|a|\n|-|\n|`b`|`c|\n\n", "<b>\n# a\n\n"),
    *("> - ", "- `a\n\n", "[a]: b\n===\n", "    a\n\nb\n", "%%\n# a\n%%\n", "$$\na\n"),
    *(repeated("\n", before="- " * 500), repeated("|", before="|a|\n|-|\n")),
)
LONGEST_PROPERTIES = 60_000  # longer ones are not read
PROPERTIES = (
    *(
        repeated(" ", before="---\na", after="\n---\n"),
        repeated(": ", before="---\n", after="\n---\n"),
    ),
    *(repeated(" ", before="---\na:", after="\n---\n"), repeated("a: b\n", before="---\n")),
    *(
        repeated(' "[[b]]"', before="---\na:", after="\n---\n"),
        repeated("\n---", before="---\na: b"),
    ),
    *(repeated("- a\n", before="---\ntags:\n", after="---\n"),),
    *(repeated("a, ", before="---\ntags: [", after="]\n---\n"), repeated("- ", before="---\n")),
    *(repeated("a ", before="---\ntags: [", after="#]\n---\n"), repeated("'", before="---\na: ")),
)


@pytest.mark.parametrize(
    ("function", "make", "longest"),
    [
        *cases(markdown_of, *HTML),
        *cases(without_unseen, "\u200b", "a\u200b", "e\u0301", "\u0301", "\U000e0041", "\u202e"),
        *cases(outline_of, *NOTES, *PROPERTIES),
        *cases(outline_of, *(repeated(mark, before="x") for mark in MARKS), longest=1 << 19),
        *cases(properties_of, *PROPERTIES, longest=LONGEST_PROPERTIES),
        *cases(
            property_links,
            ": ",
            "[",
            '"[[a]]"',
            ' "[[a',
            "\n- ",
            '["[[a]]"',
            repeated(" ", before=":"),
        ),
        *cases(tags_of, *PROPERTIES, longest=LONGEST_PROPERTIES),
        *cases(
            canvas_outline,
            *("[", '{"nodes":[', '{"nodes":[{"type":"text","text":"[["}]}'),
            repeated('{"type":"file","file":"\\u0041"},', before='{"nodes":[', after="7]}"),
        ),
        *cases(
            ignored,
            *(
                "*a*b*c*d\n",
                "a\n",
                "!a\n",
                "[",
                "[\\]",
                "[a-",
                "*",
                "**/",
                "a/",
                "\\",
                "?",
                "# a\n",
            ),
            *(
                repeated("*a", after="b\n"),
                repeated("**/a/", after="b\n"),
                repeated(" ", after="x"),
            ),
            longest=1 << 16,
        ),
        *cases(ignored_deep, "a", "a/", "abc", "b/a/", longest=1 << 12),
        *cases(
            secret_in,
            *("sk-", "-sk-", "sk-A1", "glpat-", "xoxb-", "AKIA", "AIza", "pypi-AgE", "gh_", "ghp_"),
            *(
                "github_pat_",
                "_aaaaaaaaaaaaaaaa",
                "hf_",
                "-----BEGIN ",
                "PRIVATE KEY-----",
                "T",
                "=",
            ),
            *("hooks.slack.com/services/TAAAAAA", '="aaaaaaaaaaaaaaaaaaaaaaaa', ' "', ": '"),
            *(
                "=1",
                ":1",
                "=1&",
                ": 1",
                "://",
                "://a:",
                "1@",
                "SG.",
                ".eyJ",
                ".eyJ1",
                "dapi",
                "dapi1",
            ),
            *("Authorization: Basic ", "define('", "password>1", "a1B2", "hooks.slack.com/", "&a"),
            *("LS0tLS1CRUdJTi", "sl.1", "dp.pt.1", "AccountKey=1", "12345678:AA1", "a8Q~1", "SK0"),
            *('token="aaaaaaaaaaaaaaaaaaaaaaaa"', 'token = "a1B2c3D4e5F6g7H8i9J0k1L2"'),
            *(
                repeated(" ", before="-----BEGIN PRIVATE KEY-----"),
                repeated("PRIVATE KEY ", before="-----BEGIN "),
            ),
            *(repeated("a", before='="'), repeated("sk-", before="1A ")),
        ),
        *cases(label_of, "a ", "ア", "アイ", "漢字", "の", "a & "),
        *cases(named, "漢字", "汉字", "the ", "汉的字了", "가나 ", longest=1 << 16),
        *(
            case
            for reader in (without_keys, before_a_key)
            for case in cases(
                reader,
                *("s", "sk-", "sk-or-v1-0123456789abcde", "\\", "\\u00", "%", "%25", "%2", "&"),
                *("&#", "&#x0", "&#0000", "&amp;", "&<aa", "\\\\aa", "a%", "c2st", "736b", "c"),
            )
        ),
        *cases(looked_up, numbered, longest=1 << 16),
        *cases(secrets_in_many, "sk-", '="aaaaaaaaaaaaaaaaaaaaaaaa" '),
        *cases(
            secrets_of_environment,
            "\n",
            " ",
            "a\n",
            "export ",
            "export\n",
            "a=\n",
            "a= #\n",
            "\r\n",
        ),
    ],
)
def test_the_time_grows_with_the_length(function, make, longest):
    assert growth(function, make, longest=longest) < MOST_GROWTH
