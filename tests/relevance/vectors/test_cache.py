import asyncio
import base64
import json
from dataclasses import replace

import numpy as np
import pytest

from smart_context.base.errors import ModelFailed
from smart_context.relevance.vectors import cache as cache_module
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.relevance.vectors.warm import message_key
from smart_context.storage.files.vectors import FileVectors
from tests.patience import PATIENCE_S
from tests.relevance.doubles import FakeEmbedder, messages_saying

pytestmark = pytest.mark.anyio


@pytest.fixture
def path_of(tmp_path):
    return lambda chat_id: tmp_path / f"{chat_id}.embeddings.json"


def cached(path_of, embedder, **options):
    return EmbeddingCache(FileVectors(path_of("c").parent), embedder, **options)


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(cache_module, "BATCH", 2)


@pytest.fixture
def large_chats(monkeypatch):
    """Every chat counts as a large one: what is new goes to the journal."""
    monkeypatch.setattr(cache_module, "SMALL", 0)


def stored(path):
    return json.loads(path.read_bytes())


def journal_of(path):
    return path.with_suffix(".journal")


async def test_each_message_gets_its_own_unit_row_in_order(path_of):
    embedder = FakeEmbedder(vectors={"a": [3, 0, 0, 0], "b": [0, 0.6, 0.8, 0]})
    vectors = await cached(path_of, embedder).vectors("c", messages_saying("a", "b"))
    np.testing.assert_allclose(vectors, [[1, 0, 0, 0], [0, 0.6, 0.8, 0]], rtol=1e-6)
    assert vectors.dtype == np.float32


async def test_the_file_has_the_form_of_the_contract(path_of):
    embedder = FakeEmbedder(name="tiny", vectors={"a": [1, 0, 0, 0]})
    await cached(path_of, embedder).vectors("c", messages_saying("a"))
    document = stored(path_of("c"))
    assert {key: document[key] for key in ("version", "model", "dimensions")} == {
        "version": 1,
        "model": "tiny",
        "dimensions": 4,
    }
    ((key, text),) = document["vectors"].items()
    assert key.startswith("m1:")
    assert base64.b64decode(text) == np.array([1, 0, 0, 0], dtype="<f4").tobytes()
    assert not journal_of(path_of("c")).exists()


async def test_only_what_is_missing_is_embedded(path_of):
    embedder = FakeEmbedder()
    cache = cached(path_of, embedder)
    await cache.vectors("c", messages_saying("a", "b"))
    await cache.vectors("c", messages_saying("a", "b", "c"))
    assert embedder.asked == ["a", "b", "c"]


@pytest.mark.parametrize("is_warm", [False, True])
async def test_kept_vectors_are_given_by_key_and_nothing_is_embedded_for_them(path_of, is_warm):
    embedder = FakeEmbedder()
    cache = cached(path_of, embedder)
    messages = messages_saying("a", "b")
    vectors = await cache.vectors("c", messages)
    asked, keys = [*embedder.asked], [message_key(m) for m in (*messages, *messages_saying("x"))]
    found = await (cache if is_warm else cached(path_of, embedder)).kept("c", keys[::-1])
    np.testing.assert_array_equal(found, [np.zeros(4), vectors[1], vectors[0]])
    assert not (await cache.kept("unknown", keys)).any()
    assert embedder.asked == asked


async def test_kept_vectors_of_an_open_chat_are_not_read_again_while_others_are_made(path_of):
    embedder = FakeEmbedder()
    cache = cached(path_of, embedder)
    (message,) = messages_saying("a")
    before = await cache.vectors("c", [message])
    path_of("c").unlink()
    embedder.gate = asyncio.Event()
    making = asyncio.create_task(cache.vectors("c", messages_saying("a", "b")))
    embedder.entered.clear()
    await embedder.entered.wait()
    np.testing.assert_array_equal(await cache.kept("c", [message_key(message)]), before)
    embedder.gate.set()
    assert len(await making) == 2


async def test_a_new_cache_embeds_nothing_that_is_on_disk(path_of):
    embedder = FakeEmbedder()
    messages = messages_saying("a", "b")
    first = await cached(path_of, embedder).vectors("c", messages)
    again = await cached(path_of, embedder).vectors("c", messages)
    np.testing.assert_array_equal(first, again)
    assert embedder.asked == ["a", "b"]


async def test_empty_unfinished_and_failed_messages_are_zero_rows_and_never_embedded(path_of):
    embedder = FakeEmbedder()
    messages = messages_saying("a", "  \n", "half an ans", "broken")
    messages[2] = replace(messages[2], generating=True)
    messages[3] = replace(messages[3], error="timeout")
    vectors = await cached(path_of, embedder).vectors("c", messages)
    assert embedder.asked == ["a"]
    assert vectors[0].any()
    assert not vectors[1:].any()
    assert len(stored(path_of("c"))["vectors"]) == 1


async def test_an_answer_is_embedded_once_it_is_finished(path_of):
    embedder = FakeEmbedder()
    cache = cached(path_of, embedder)
    (finished,) = messages_saying("whole")
    await cache.vectors("c", [replace(finished, generating=True)])
    vectors = await cache.vectors("c", [finished])
    assert embedder.asked == ["whole"]
    assert vectors[0].any()


async def test_nothing_but_empty_messages_asks_nothing_and_writes_nothing(path_of):
    embedder = FakeEmbedder()
    vectors = await cached(path_of, embedder).vectors("c", messages_saying("", " "))
    assert vectors.shape[0] == 2
    assert embedder.batches == []
    assert not path_of("c").exists()
    assert (await cached(path_of, embedder).vectors("d", [])).shape[0] == 0


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param(["", "a"], id="text after none"),
        pytest.param(["", "", "a", "", "b"], id="text here and there"),
        pytest.param(["a", ""], id="none after text"),
    ],
)
@pytest.mark.parametrize("first", [0, 1, 2])
async def test_a_chat_may_begin_with_messages_that_have_no_vector(path_of, texts, first):
    cache = cached(path_of, FakeEmbedder(vectors={"a": [1, 0], "b": [0, 1]}))
    messages = messages_saying(*texts)
    await cache.vectors("c", messages[:first])
    for count in range(first, len(messages) + 1):
        vectors = await cache.vectors("c", messages[:count])
        assert vectors.any(axis=1).tolist() == [bool(text) for text in texts[:count]]


async def test_zero_rows_follow_when_the_text_has_left_the_chat(path_of):
    cache = cached(path_of, FakeEmbedder(vectors={"a": [1, 0]}))
    empty, said, more = messages_saying("", "a", "")
    await cache.vectors("c", [empty, said])
    await cache.vectors("c", [empty])
    assert not (await cache.vectors("c", [empty, more])).any()


async def test_an_edited_message_is_embedded_again_and_its_old_vector_leaves_the_file(path_of):
    embedder = FakeEmbedder()
    cache = cached(path_of, embedder)
    await cache.vectors("c", messages_saying("a", "b"))
    before = set(stored(path_of("c"))["vectors"])
    vectors = await cache.vectors("c", messages_saying("a", "other"))
    after = set(stored(path_of("c"))["vectors"])
    np.testing.assert_allclose(vectors[1], embedder.vector("other"), rtol=1e-5)
    assert len(after) == 2
    assert len(before & after) == 1


async def test_a_deleted_message_leaves_the_file(path_of):
    cache = cached(path_of, FakeEmbedder())
    messages = messages_saying("a", "b", "c")
    await cache.vectors("c", messages)
    vectors = await cache.vectors("c", [messages[0], messages[2]])
    assert vectors.shape == (2, 4)
    assert {key.split(":")[0] for key in stored(path_of("c"))["vectors"]} == {"m1", "m3"}


async def test_the_first_messages_are_given_without_forgetting_those_that_follow(path_of):
    embedder = FakeEmbedder()
    cache = cached(path_of, embedder)
    messages = messages_saying("a", "b", "c")
    everything = await cache.vectors("c", messages)
    first = await cache.vectors("c", messages[:2], more_follow=True)
    np.testing.assert_array_equal(first, everything[:2])
    assert len(stored(path_of("c"))["vectors"]) == 3
    await cache.vectors("c", messages)
    assert embedder.batches == [["a", "b", "c"]]


async def test_the_first_messages_need_not_wait_for_the_newest_to_be_embedded(path_of):
    embedder = FakeEmbedder()
    cache = cached(path_of, embedder)
    messages = messages_saying("a", "b", "c")
    await cache.vectors("c", messages[:2])
    embedder.gate, embedder.entered = asyncio.Event(), asyncio.Event()
    newest = asyncio.create_task(cache.vectors("c", messages))
    async with asyncio.timeout(PATIENCE_S):
        await embedder.entered.wait()
        assert (await cache.vectors("c", messages[:2], more_follow=True)).shape == (2, 4)
    assert not newest.done()
    embedder.gate.set()
    assert (await newest).shape == (3, 4)


async def test_moved_messages_keep_their_vectors(path_of):
    embedder = FakeEmbedder()
    cache = cached(path_of, embedder)
    messages = messages_saying("a", "b", "c")
    first = await cache.vectors("c", messages)
    turned = await cache.vectors("c", messages[::-1])
    np.testing.assert_array_equal(turned, first[::-1])
    assert embedder.asked == ["a", "b", "c"]


async def test_what_was_handed_out_never_changes(path_of):
    cache = cached(path_of, FakeEmbedder())
    first = await cache.vectors("c", messages_saying("a", "b"))
    copy = first.copy()
    await cache.vectors("c", messages_saying("a", "b", "c"))
    await cache.vectors("c", messages_saying("a", "x", "y"))
    np.testing.assert_array_equal(first, copy)
    assert not first.flags.writeable


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"model": "another"}, id="another model"),
        pytest.param({"version": 99}, id="another version"),
        pytest.param({"dimensions": 8}, id="a dimension that is not true"),
        pytest.param({"dimensions": 0}, id="no dimension"),
        pytest.param({"dimensions": "4"}, id="a dimension of the wrong type"),
        pytest.param({"vectors": []}, id="vectors of the wrong type"),
        pytest.param({"vectors": {"m1:x": "***"}}, id="vectors that are not base64"),
        pytest.param({"vectors": {"m1:x": 7}}, id="vectors that are not text"),
    ],
)
async def test_old_vectors_are_rebuilt_when_the_file_is_of(path_of, change):
    embedder = FakeEmbedder()
    messages = messages_saying("a")
    await cached(path_of, embedder).vectors("c", messages)
    path_of("c").write_text(json.dumps({**stored(path_of("c")), **change}), encoding="utf-8")
    await cached(path_of, embedder).vectors("c", messages)
    assert embedder.asked == ["a", "a"]
    assert stored(path_of("c"))["model"] == "fake"
    assert stored(path_of("c"))["dimensions"] == 4


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"null", b"[1]", b"\xff\xfe", b"[" * 100_000, b'{"version": 1}'],
    ids=["empty", "cut off", "null", "a list", "not UTF-8", "nested absurdly", "keys missing"],
)
async def test_a_damaged_file_is_rebuilt_without_an_error(path_of, damage):
    embedder = FakeEmbedder()
    path_of("c").write_bytes(damage)
    vectors = await cached(path_of, embedder).vectors("c", messages_saying("a"))
    assert vectors.shape == (1, 4)
    assert len(stored(path_of("c"))["vectors"]) == 1


async def test_a_model_that_changes_its_dimension_under_its_name_is_embedded_again(path_of):
    embedder = FakeEmbedder(dimensions=4)
    await cached(path_of, embedder).vectors("c", messages_saying("a", "b"))
    embedder.dimensions = 6
    vectors = await cached(path_of, embedder).vectors("c", messages_saying("a", "b", "c"))
    assert vectors.shape == (3, 6)
    assert vectors.any(axis=1).all()
    assert stored(path_of("c"))["dimensions"] == 6
    assert len(stored(path_of("c"))["vectors"]) == 3


async def test_vectors_of_another_width_are_made_again_as_soon_as_a_query_tells(path_of):
    messages = messages_saying("a", "b")
    await cached(path_of, FakeEmbedder(dimensions=4)).vectors("c", messages)
    cache = cached(path_of, FakeEmbedder(dimensions=6))
    assert (await cache.vectors("c", messages)).shape == (2, 4)  # nobody has asked the model yet
    assert (await cache.queries(["a label"])).shape == (1, 6)
    vectors = await cache.vectors("c", messages)
    assert vectors.shape == (2, 6)
    assert vectors.any(axis=1).all()
    assert stored(path_of("c"))["dimensions"] == 6


async def test_queries_of_another_width_are_made_again(path_of):
    embedder = FakeEmbedder(dimensions=4)
    cache = cached(path_of, embedder)
    await cache.queries(["a", "b"])
    embedder.dimensions = 6
    rows = await cache.queries(["a", "c"])
    assert rows.shape == (2, 6)
    assert rows.any(axis=1).all()


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
async def test_a_file_with_what_is_no_number_is_damaged_and_made_again(path_of, number, caplog):
    embedder, messages = FakeEmbedder(), messages_saying("a", "b")
    await cached(path_of, embedder).vectors("c", messages)
    document = stored(path_of("c"))
    key = next(iter(document["vectors"]))
    odd = np.array([number, 0, 0, 0], dtype="<f4").tobytes()
    document["vectors"][key] = base64.b64encode(odd).decode()
    path_of("c").write_text(json.dumps(document), encoding="utf-8")
    vectors = await cached(path_of, embedder).vectors("c", messages)
    assert vectors.any(axis=1).all()
    assert "not a finite number" in caplog.text
    assert stored(path_of("c"))["vectors"][key] != document["vectors"][key]


async def test_two_calls_at_once_embed_nothing_twice(path_of):
    embedder = FakeEmbedder()
    embedder.gate = asyncio.Event()
    cache = cached(path_of, embedder)
    messages = messages_saying("a", "b")
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
        both = [tasks.create_task(cache.vectors("c", messages)) for _ in range(2)]
        await embedder.entered.wait()
        embedder.gate.set()
    np.testing.assert_array_equal(both[0].result(), both[1].result())
    assert embedder.asked == ["a", "b"]


async def test_chats_do_not_share_vectors_or_files(path_of):
    embedder = FakeEmbedder()
    cache = cached(path_of, embedder, warm_chats=1)
    for chat_id in ("c", "d", "c", "d"):
        await cache.vectors(chat_id, messages_saying(f"in {chat_id}"))
    assert embedder.asked == ["in c", "in d"]


async def test_a_failing_embedder_is_asked_again_later(path_of):
    embedder = FakeEmbedder()
    embedder.failing = True
    cache = cached(path_of, embedder)
    for _ in range(2):
        with pytest.raises(ModelFailed):
            await cache.vectors("c", messages_saying("a"))
    embedder.failing = False
    assert (await cache.vectors("c", messages_saying("a")))[0].any()


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(np.zeros((1, 4)), id="too few"),
        pytest.param(np.zeros(4), id="one vector"),
        pytest.param(np.zeros((2, 0)), id="vectors without numbers"),
    ],
)
async def test_nonsense_from_the_embedder_is_a_model_failure(path_of, answer):
    class Nonsense(FakeEmbedder):
        async def embed(self, texts):
            return answer

    with pytest.raises(ModelFailed, match="expected 2 vectors"):
        await cached(path_of, Nonsense()).vectors("c", messages_saying("a", "b"))


async def test_numbers_that_are_none_become_zero_rows(path_of):
    embedder = FakeEmbedder(vectors={"a": [float("nan"), 1, 0, 0]})
    vectors = await cached(path_of, embedder).vectors("c", messages_saying("a", "b"))
    assert not vectors[0].any()
    assert vectors[1].any()


@pytest.mark.usefixtures("small_batches")
async def test_a_stopped_import_goes_on_where_it_was(path_of):
    embedder = FakeEmbedder()
    messages = messages_saying("a", "b", "c", "d", "e")
    progress = []

    def stop_after_the_second(done, total):
        progress.append((done, total))
        if done == 4:
            raise asyncio.CancelledError

    cache = cached(path_of, embedder)
    with pytest.raises(asyncio.CancelledError):
        await cache.vectors("c", messages, on_progress=stop_after_the_second)
    assert progress == [(2, 5), (4, 5)]
    vectors = await cached(path_of, embedder).vectors("c", messages)
    assert embedder.batches == [["a", "b"], ["c", "d"], ["e"]]
    assert vectors.any(axis=1).all()
    assert len(stored(path_of("c"))["vectors"]) == 5
    assert not journal_of(path_of("c")).exists()


@pytest.mark.usefixtures("large_chats")
async def test_a_large_chat_appends_to_its_journal_and_leaves_the_file_alone(path_of):
    embedder = FakeEmbedder()
    cache = cached(path_of, embedder)
    await cache.vectors("c", messages_saying("a"))
    first = journal_of(path_of("c")).stat().st_size
    await cache.vectors("c", messages_saying("a", "b"))
    record = journal_of(path_of("c")).stat().st_size - first
    assert not path_of("c").exists()
    assert record < 100
    again = await cached(path_of, embedder).vectors("c", messages_saying("a", "b"))
    np.testing.assert_allclose(again[1], embedder.vector("b"), rtol=1e-5)
    assert embedder.asked == ["a", "b"]


@pytest.mark.usefixtures("large_chats")
@pytest.mark.parametrize("method", ["fold", "close"])
async def test_the_journal_is_folded_into_the_file(path_of, method):
    embedder = FakeEmbedder()
    cache = cached(path_of, embedder)
    await cache.vectors("c", messages_saying("a", "b"))
    await cache.vectors("c", messages_saying("a", "x"))
    await getattr(cache, method)()
    assert len(stored(path_of("c"))["vectors"]) == 2
    assert not journal_of(path_of("c")).exists()
    await cached(path_of, embedder).vectors("c", messages_saying("a", "x"))
    assert embedder.asked == ["a", "b", "x"]


@pytest.mark.usefixtures("large_chats")
@pytest.mark.parametrize("lost", [1, 10, 25])
async def test_a_journal_that_was_cut_off_loses_its_last_record_only(path_of, lost):
    embedder = FakeEmbedder()
    messages = messages_saying("a", "b")
    await cached(path_of, embedder).vectors("c", messages)
    whole = journal_of(path_of("c")).read_bytes()
    journal_of(path_of("c")).write_bytes(whole[:-lost])
    await cached(path_of, embedder).vectors("c", messages)
    await cached(path_of, embedder).vectors("c", messages)
    assert embedder.asked == ["a", "b", "b"]


@pytest.mark.usefixtures("large_chats")
@pytest.mark.parametrize(
    "damage",
    [b"", b"garbage", b"{}\n", b'{"version": 1, "model": "other", "dimensions": 4}\n'],
    ids=["empty", "garbage", "no head", "another model"],
)
async def test_a_damaged_journal_is_rebuilt_without_an_error(path_of, damage):
    embedder = FakeEmbedder()
    journal_of(path_of("c")).write_bytes(damage)
    for _ in range(2):
        await cached(path_of, embedder).vectors("c", messages_saying("a"))
    assert embedder.asked == ["a"]


@pytest.mark.usefixtures("large_chats")
async def test_a_flipped_bit_in_the_journal_is_noticed(path_of):
    embedder = FakeEmbedder()
    await cached(path_of, embedder).vectors("c", messages_saying("a"))
    data = bytearray(journal_of(path_of("c")).read_bytes())
    data[-1] ^= 1
    journal_of(path_of("c")).write_bytes(data)
    await cached(path_of, embedder).vectors("c", messages_saying("a"))
    assert embedder.asked == ["a", "a"]


async def test_a_folder_that_can_not_be_written_costs_nobody_an_answer(tmp_path):
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    embedder = FakeEmbedder()
    cache = EmbeddingCache(FileVectors(tmp_path / "file"), embedder)
    for _ in range(2):
        assert (await cache.vectors("c", messages_saying("a")))[0].any()
    assert embedder.asked == ["a"]


async def test_queries_are_remembered_and_empty_ones_are_zero_rows(path_of):
    embedder = FakeEmbedder()
    cache = cached(path_of, embedder)
    first = await cache.queries(["Tax", " ", "Tax", "Bike"])
    again = await cache.queries(["Bike"])
    assert first.shape == (4, 4)
    np.testing.assert_array_equal(first[0], first[2])
    np.testing.assert_array_equal(first[3], again[0])
    assert not first[1].any()
    assert embedder.asked == ["Tax", "Bike"]
    assert (await cache.queries([])).shape[0] == 0


async def test_a_forgotten_chat_is_read_from_disk_again(path_of):
    embedder = FakeEmbedder()
    cache = cached(path_of, embedder)
    await cache.vectors("c", messages_saying("a"))
    path_of("c").unlink()
    await cache.forget("c")
    await cache.vectors("c", messages_saying("a"))
    assert embedder.asked == ["a", "a"]


async def test_odd_ids_and_texts_survive_the_file(path_of):
    embedder = FakeEmbedder(vectors={"\ud800 lone": [1, 0, 0, 0]})
    messages = [replace(messages_saying("\ud800 lone")[0], id="a:b\n日本")]
    await cached(path_of, embedder).vectors("c", messages)
    await cached(path_of, embedder).vectors("c", messages)
    assert embedder.asked == ["\ud800 lone"]


@pytest.mark.parametrize(
    "layout", [{}, {"indent": 2}, {"separators": (",", ":")}, {"sort_keys": True}], ids=repr
)
@pytest.mark.parametrize("count", [1, 2, 3])
async def test_a_file_in_any_layout_of_json_is_read(path_of, layout, count):
    embedder = FakeEmbedder()
    messages = messages_saying(*"abc"[:count])
    first = await cached(path_of, embedder).vectors("c", messages)
    document = stored(path_of("c")) | {"by": "another program"}
    path_of("c").write_text(json.dumps(document, **layout), encoding="utf-8")
    again = await cached(path_of, embedder).vectors("c", messages)
    np.testing.assert_array_equal(first, again)
    assert len(embedder.asked) == count
