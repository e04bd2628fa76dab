import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smart_context.contexts import SmartContexts, embeds
from smart_context.contexts.embeds import EmbeddedTexts
from smart_context.vault.index.vault_index import VaultIndex
from smart_context.vault.match import build_matcher


def _snapshot(contexts, *names, **opts):
    context = contexts.create(dict.fromkeys(names, True))
    return context.get_snapshot(expand_embeds=True, **opts)


def _text(contexts, name, **opts):
    (text,) = _snapshot(contexts, name, **opts).items[0].values()
    return text


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        pytest.param("x ![[b]] y", "x B\n## S\ns ^k\n# T\nt\n y", id="a note, no properties"),
        pytest.param("![[b#S]]!", "## S\ns ^k\n!", id="a section"),
        pytest.param("![[b#^k]]!", "s ^k!", id="a block"),
        pytest.param("![alt](b.md) ![[b#^k|name]]", "B\n## S\ns ^k\n# T\nt\n s ^k", id="as links"),
        pytest.param("[[b]] [t](b.md)", "[[b]] [t](b.md)", id="a link is no embed"),
        pytest.param("`![[b]]`", "`![[b]]`", id="nor is code"),
        pytest.param("![[none]] ![[b#no]]", "![[none]] ![[b#no]]", id="nothing is there"),
        pytest.param("![[p.png]] ![[t.txt]]", "![[p.png]] ![[t.txt]]", id="no notes"),
        pytest.param("![[a]]", "![[a]]", id="itself"),
        pytest.param("# H\n![[#H]]", "# H\n![[#H]]", id="its own section"),
        pytest.param("![[#H]]\n# H\nh", "# H\nh\n# H\nh", id="another section of itself"),
        pytest.param("![[round]]", "r ![[a]]", id="around a circle"),
        pytest.param("[![[b#^k]]](b.md)", "[s ^k](b.md)", id="within a link"),
    ],
)
def test_an_embed_becomes(vault, note, expected):
    contexts = vault(
        {
            "a.md": note,
            "b.md": "---\np: 1\n---\nB\n## S\ns ^k\n# T\nt\n",
            "round.md": "r ![[a]]",
            "t.txt": "t",
            "p.png": "p",
        }
    )
    assert _text(contexts, "a.md") == expected


def test_embeds_stay_as_they_are_unless_asked_for(vault):
    contexts = vault({"a.md": "![[b]]", "b.md": "b"})
    assert contexts.create({"a.md": True}).get_snapshot().items[0] == {"a.md": "![[b]]"}


def test_a_section_takes_in_what_is_embedded_in_it_whatever_its_headings(vault):
    contexts = vault({"a.md": "# One\n![[b]]\n# Two\n2", "b.md": "# Big\nb\n"})
    assert _text(contexts, "a.md#One") == "# One\n# Big\nb\n\n"
    assert _text(contexts, "a.md", excluded_headings=["One"]) == "# Two\n2"
    snapshot = _snapshot(contexts, "a.md", excluded_headings=["big"])
    assert snapshot.items[0] == {"a.md": "# One\n# Two\n2"}
    assert snapshot.exclusions == {"big": 1}


@pytest.mark.parametrize(
    "embed",
    [
        pytest.param("![[diary#^id]]", id="a block"),
        pytest.param("![[diary#Sub]]", id="a section below"),
        pytest.param("![[diary#Secret#Sub]]", id="a section by its way"),
        pytest.param("![[diary#Secret]]", id="the section itself"),
        pytest.param("![[diary]]", id="the whole note"),
        pytest.param("> ![[diary#^id]]", id="in a quote"),
        pytest.param("![alt](diary.md#Sub)", id="a Markdown link"),
        pytest.param("![[between]]", id="by a note between"),
        pytest.param("![[between#^by]]", id="by a block of a note between"),
        pytest.param("![[around#^all]]", id="what an excluded block embeds"),
        pytest.param("[[between]]", id="of a linked note"),
    ],
)
def test_what_its_own_note_excludes_comes_in_through_no_embed(vault, embed):
    contexts = vault(
        {
            "a.md": f"# Own\nbefore\n\n{embed}\n\nafter\n",
            "diary.md": "day\n# Secret\nx\n## Sub\nhidden 1\n\nhidden 2 ^id\n# Open\nseen\n",
            "between.md": "# Between\n![[diary#^id]]\n\nsee ![[diary#Sub]] ^by\n",
            "around.md": "# Secret\nhidden ![[plain]] ^all\n",
            "plain.md": "hidden, here",
        }
    )
    snapshot = _snapshot(contexts, "a.md", excluded_headings=["secret"], link_depth=2)
    texts = [text for level in snapshot.items.values() for text in level.values()]
    assert "hidden" not in "".join(texts)
    assert "before" in texts[0]
    assert snapshot.exclusions["secret"] >= 1
    assert snapshot.total_char_count == sum(snapshot.lengths[key] for key in snapshot.lengths)


def test_text_beside_an_embed_of_an_excluded_block_stays(vault):
    contexts = vault({"a.md": "say ![[d#^k]].\n", "d.md": "# S\nno ^k\n# O\nyes\n"})
    snapshot = _snapshot(contexts, "a.md", excluded_headings=["S"])
    assert snapshot.items[0] == {"a.md": "say .\n"}
    assert snapshot.exclusions == {"S": 1}
    assert _text(contexts, "a.md", excluded_headings=["T"]) == "say no ^k.\n"


def test_an_excluded_block_that_embeds_counts_once(vault):
    files = {"a.md": "![[d#^k]]", "d.md": "# S\none ![[e]] two ^k\n", "e.md": "three"}
    snapshot = _snapshot(vault(files), "a.md", excluded_headings=["S"])
    assert (snapshot.items[0], snapshot.exclusions) == ({"a.md": ""}, {"S": 1})


def test_a_block_that_embeds_is_found_where_it_is_now(vault):
    contexts = vault({"a.md": "![[b]]\n\nsee ![[b]] ^k\n\nend", "b.md": "long text"})
    assert _text(contexts, "a.md#^k") == "see long text ^k"


def test_what_embedded_text_links_to_is_followed_and_the_embed_itself_is_not(vault):
    contexts = vault(
        {
            "a.md": "![[b]] [[d]]",
            "b.md": "[[c]] ![[e]]",
            **dict.fromkeys(["c.md", "d.md", "e.md"], "x"),
        }
    )
    snapshot = _snapshot(contexts, "a.md", link_depth=1, order="listed")
    assert snapshot.items == {0: {"a.md": "[[c]] x [[d]]"}, 1: {"c.md": "x", "d.md": "x"}}
    cut = _snapshot(contexts, "a.md", link_depth=1, max_len=5, order="listed")
    assert cut.items == {0: {"a.md": "[[c]]"}}
    assert cut.skipped_items == ["c.md"]


def test_a_limit_counts_what_is_embedded(vault):
    contexts = vault({"a.md": "![[b]]", "b.md": "b" * 50, "c.md": "c" * 20})
    snapshot = _snapshot(contexts, "a.md", "c.md", max_len=60)
    assert list(snapshot.items[0]) == ["c.md"]
    assert snapshot.skipped_items == ["a.md"]
    assert snapshot.lengths["a.md"] == 50


def test_embeds_within_embeds_end(vault, monkeypatch):
    deep = {f"n{i}.md": f"{i} ![[n{i + 1}]]" for i in range(9)}
    assert _text(vault(deep), "n0.md") == "0 1 2 3 4 5 ![[n6]]"
    monkeypatch.setattr(embeds, "MAX_CHARACTERS", 5)
    assert _text(vault({"s.md": "![[t]] ![[t]]", "t.md": "1234"}), "s.md") == "1234 ![[t]]"
    monkeypatch.setattr(embeds, "MAX_EMBEDS", 2)
    assert _text(vault({"s.md": "![[t]]" * 3, "t.md": "1"}), "s.md") == "11![[t]]"


def test_notes_that_double_at_each_step_stay_small(vault):
    files = {f"n{i}.md": f"![[n{i + 1}]]![[n{i + 1}]]" for i in range(20)}
    assert len(_text(vault(files), "n0.md")) < 1_000


_NAMES = ["a", "b", "c", "d"]
_PIECE = st.one_of(
    st.sampled_from([f"![[{name}]]" for name in _NAMES]),
    st.sampled_from([f"![[{name}#H]]" for name in _NAMES]),
    st.sampled_from(
        ["# H\n", "## H\n", "text ", "\n\n", "[[a]]", "[x](b.md)", "---\n", " ^k\n", "é"]
    ),
)


@settings(max_examples=150, deadline=None)
@given(st.fixed_dictionaries({name: st.lists(_PIECE, max_size=8) for name in _NAMES}))
def test_what_is_known_without_reading_is_what_is_read(tmp_path_factory, notes):
    root = tmp_path_factory.mktemp("vault")
    for name, pieces in notes.items():
        (root / f"{name}.md").write_text("".join(pieces))
    index = VaultIndex(root)
    patterns = [("h", build_matcher("h"))]
    for name in _NAMES:
        foretold = EmbeddedTexts(index, patterns)
        outline, links = foretold.outline(f"{name}.md"), foretold.links(f"{name}.md")
        reading = EmbeddedTexts(index, patterns)
        text, read_outline = reading.read(f"{name}.md")
        assert outline == read_outline
        assert list(links) == list(reading.links(f"{name}.md"))
        assert len(text) == outline.length
        assert len(text) <= len("".join(notes[name])) + embeds.MAX_CHARACTERS
        for heading in outline.headings:
            if "![[" not in heading.text:  # what it embeds is in place of it
                assert text[heading.start :].lstrip("# ").startswith(heading.text)
        for link, _ in links:
            assert text[link.start] == "["
    index.close()


def test_what_is_given_is_not_changed(vault):
    contexts = vault({"a.md": "![[b]]", "b.md": "b"}, expand_embeds=True)
    assert isinstance(contexts, SmartContexts)
    assert contexts.options.expand_embeds
    assert contexts.create({"a.md": 1}).compile().context == "b"
