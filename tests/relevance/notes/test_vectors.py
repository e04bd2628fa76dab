import os
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from smart_context.base.errors import ModelFailed
from smart_context.relevance.note_vectors import (
    CARD_CHARACTERS,
    TABLE_FILE,
    Card,
    NoteTable,
    NoteVectors,
    card_of,
)
from smart_context.storage.files.caches import FileCaches
from smart_context.vault.index.vault_index import VaultIndex
from smart_context.vault.markdown.notes import outline_of
from tests.scripted import ScriptedEmbedder

pytestmark = pytest.mark.anyio


class Vault:
    """A vault, its notes' stamps, and vectors of them as after a start."""

    def __init__(self, root):
        self.root = root
        self.memory = root / ".memory"
        self.embedder = ScriptedEmbedder()

    def write(self, path, text, time=1):
        (self.root / path).write_text(text, encoding="utf-8")
        os.utime(self.root / path, (time, time))

    def vectors(self, embedder=None):
        self.index = VaultIndex(self.root)
        return NoteVectors(FileCaches(self.memory), embedder or self.embedder, self.index.read)

    def stamps(self):
        self.index.refresh()
        return sorted(self.index.names.stamps())

    @property
    def embedded(self):
        return [text for call in self.embedder.asked for text in call]


@pytest.fixture
def vault(tmp_path):
    made = Vault(tmp_path)
    made.memory.mkdir()
    made.write("a.md", "# Roses\nred roses")
    made.write("b.md", "# Bread\nbrown bread")
    return made


async def nearest(vectors, query):
    paths, cosines = await vectors.cosines([query])
    return max(paths, key=dict(zip(paths, cosines[0], strict=True)).get) if paths else None


async def test_a_note_is_embedded_once_and_its_vector_is_kept(vault):
    vectors = vault.vectors()
    assert await vectors.embed(vault.stamps())
    assert vault.embedded == ["a\nRoses\nred roses", "b\nBread\nbrown bread"]
    assert await nearest(vectors, "red roses") == "a.md"
    again = vault.vectors()
    assert await again.embed(vault.stamps())
    assert len(vault.embedded) == 3  # the query
    assert await nearest(again, "brown bread") == "b.md"


async def test_only_what_changed_on_its_card_is_embedded_again(vault):
    vault.write("long.md", f"# Long\n{'opening ' * 100}\nend")
    vectors = vault.vectors()
    await vectors.embed(vault.stamps())
    before = len(vault.embedded)
    vault.write("long.md", f"# Long\n{'opening ' * 100}\nanother end", time=2)
    await vectors.embed(vault.stamps())
    assert len(vault.embedded) == before
    vault.write("a.md", "# Tulips", time=2)
    await vectors.embed(vault.stamps())
    assert vault.embedded[before:] == ["a\nTulips"]


async def test_a_note_that_is_gone_is_forgotten_and_its_place_used_again(vault):
    vectors = vault.vectors()
    await vectors.embed(vault.stamps())
    (vault.root / "a.md").unlink()
    await vectors.keep_only({stamp[0] for stamp in vault.stamps()})
    vault.write("c.md", "# Cello")
    await vectors.embed(vault.stamps())
    for known in (vectors, vault.vectors()):
        paths, cosines = await known.cosines(["red roses", "b bread brown bread"])
        assert sorted(paths) == ["b.md", "c.md"]
        assert cosines[1, paths.index("b.md")] > 0.99


async def test_vectors_of_another_model_are_thrown_away(vault):
    await vault.vectors().embed(vault.stamps())
    other = vault.vectors(ScriptedEmbedder(name="other", dimension=8))
    assert (await other.cosines(["roses"]))[0] == []
    assert await other.embed(vault.stamps())
    assert await nearest(other, "red roses") == "a.md"


def without_a_vector(path):
    with sqlite3.connect(path) as database:
        database.execute("UPDATE notes SET vector = 7")
    database.close()


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda path: path.write_bytes(b"no database" * 1_000), id="no database"),
        pytest.param(without_a_vector, id="no vector"),
    ],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
async def test_a_damaged_file_is_rebuilt(vault, damage):
    await vault.vectors().embed(vault.stamps())
    damage(vault.memory / "index" / TABLE_FILE)
    again = vault.vectors()
    assert await again.embed(vault.stamps())
    assert await nearest(again, "red roses") == "a.md"
    assert len(vault.embedded) == 5


async def test_without_a_memory_folder_nothing_is_written(vault):
    vault.memory.rmdir()
    vectors = vault.vectors()
    assert await vectors.embed(vault.stamps())
    assert await nearest(vectors, "red roses") == "a.md"
    assert not vault.memory.exists()
    vault.memory.mkdir()
    vault.write("c.md", "# Cello")
    await vectors.embed(vault.stamps())
    paths, _ = await vault.vectors().cosines(["x"])
    assert sorted(paths) == ["a.md", "b.md", "c.md"]


async def test_a_place_that_takes_no_file_costs_only_the_keeping(vault):
    (vault.memory / "index").write_text("in the way")
    vectors = vault.vectors()
    assert await vectors.embed(vault.stamps())
    assert await nearest(vectors, "red roses") == "a.md"


async def test_when_the_embedder_fails_finished_batches_stay(vault):
    for number in range(40):
        vault.write(f"n{number:02}.md", f"note {number}")
    vectors = vault.vectors()

    class Failing(ScriptedEmbedder):
        async def embed(self, texts):
            if len(self.asked) == 1:
                self.error = ModelFailed("down")
            return await super().embed(texts)

    failing = Failing()
    vectors = vault.vectors(failing)
    with pytest.raises(ModelFailed):
        await vectors.embed(vault.stamps())
    failing.error = None
    paths, _ = await vectors.cosines(["x"])
    assert len(paths) == 16


async def test_who_waits_gets_a_batch_at_least(vault):
    for number in range(40):
        vault.write(f"n{number:02}.md", f"note {number}")
    vectors = vault.vectors()
    assert not await vectors.embed(vault.stamps(), within_s=-1)
    assert len((await vectors.cosines(["x"]))[0]) == 16
    assert await vectors.embed(vault.stamps(), within_s=3_600)


@settings(max_examples=30, deadline=None)
@given(
    arrays.arrays(np.float32, (20, 24), elements=st.floats(-1, 1, width=16)),
    arrays.arrays(np.float32, (2, 24), elements=st.floats(-1, 1, width=16)),
)
def test_little_of_a_cosine_is_lost(rows, queries):
    rows, queries = (
        m / np.maximum(np.linalg.norm(m, axis=1, keepdims=True), 1) for m in (rows, queries)
    )
    table = NoteTable(FileCaches(Path("no/such/folder")), "m")
    table.put([Card((f"{n}.md", 1, 1, 1), b"") for n in range(20)], rows)
    paths, found = table.cosines(queries)
    order = [int(path[:-3]) for path in paths]
    np.testing.assert_allclose(found, queries @ rows[order].T, atol=0.001)


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        pytest.param("H/Tea.md", "# Tea\nGreen.", "H, Tea\nTea\nGreen.", id="below its title"),
        pytest.param("T.md", "Green.\n# Tea\nx", "T\nTea\nGreen. Tea x", id="before it"),
        pytest.param(
            "T.md",
            "---\naliases: [Cha]\ntags: [drink]\n---\n[[Pot]] **x**\n",
            "T\nCha, drink\nPot x",
            id="other names and tags, no marks",
        ),
        pytest.param("t.canvas", "", "t", id="nothing but a name"),
        pytest.param("茶.md", "# 绿茶\n泡三分钟", "茶\n绿茶\n泡三分钟", id="Chinese"),
    ],
)
def test_a_card_is_what_a_note_is_about(path, text, expected):
    assert card_of(path, text, outline_of(text)) == expected


@settings(deadline=None)
@given(st.text())
def test_every_text_has_a_short_card(text):
    assert 0 < len(card_of("a.md", text, outline_of(text))) <= CARD_CHARACTERS
