"""Dialogues through the product's own extractor and selector, over an embedder of four axes."""

import logging
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from smart_context.base.errors import ModelFailed
from smart_context.cli.evaluation.dialogues import read_dialogues
from smart_context.cli.evaluation.report import in_sample_note, rows_of
from smart_context.cli.evaluation.runs import RememberingEmbedder, measured_files
from smart_context.plugin.settings import FilterSettings
from tests.cli.evaluation.files import (
    CHAT,
    FACTS,
    FOLLOW_UPS,
    QUESTIONS,
    SEGMENTS,
    SubjectEmbedder,
    write,
)

pytestmark = pytest.mark.anyio


async def measured(tmp_path, document, embedder=None, **settings):
    path = write(tmp_path / "talk.json", document)
    kind, dialogues = read_dialogues(path)
    result = await measured_files(
        [(path.name, kind, dialogues)], embedder or SubjectEmbedder(), FilterSettings(**settings)
    )
    return result, result.to_dict()["files"][0]


async def test_evidence_of_questions_is_found(tmp_path):
    _, found = await measured(tmp_path, QUESTIONS)
    assert found["evidence_recall"] == {"questions": 1, "10": 1, "20": 1, "50": 1}
    assert found["selections"]["count"] == 1
    assert found["same_topic"] is None


async def test_what_a_new_chat_recalls_is_measured_beside_simple_methods(tmp_path):
    _, found = await measured(tmp_path, QUESTIONS)
    methods = {"recall", "newest", "bm25", "cosine", "both"}
    assert found["recalled"].keys() == {"all", "talk-1"}
    assert found["recalled"]["all"] == {"questions": 1, **dict.fromkeys(methods, 1)}
    assert "evidence in a new chat: recalled" in dict(rows_of(found))


async def test_topics_are_matched_with_segments(tmp_path):
    _, found = await measured(tmp_path, SEGMENTS)
    assert found["agreement"] == {
        "dialogues": 1,
        "adjusted_rand": 1,
        "coverage": 1,
        "topics_each": 1,
        "single": 0,
        "largest": 0.5,
    }
    assert found["same_topic"] is None
    assert found["selections"]["fallback_share"] == 0


async def test_topics_are_matched_with_groups_that_return(tmp_path):
    spoken = SEGMENTS[0]["utterances"]
    groups = [{"utterances": [*spoken, *spoken[:2]], "groups": [[0, 1, 4, 5], [2, 3]]}]
    _, found = await measured(tmp_path, groups)
    assert found["agreement"]["adjusted_rand"] == 1


async def test_a_question_is_answered_at_the_threshold_beside_simple_ways(tmp_path):
    _, found = await measured(tmp_path, QUESTIONS, recent_messages=0)
    assert found["asked"]["count"] == 1
    assert found["asked"]["evidence"] >= found["asked"]["recall"] > 0
    assert set(found["asked"]) >= {"newest", "bm25", "cosine", "both", "precision", "f1"}
    assert 0 < found["asked"]["tokens"] <= 1


async def test_pooled_recall_leaves_traps_out(tmp_path):
    trap = QUESTIONS[0]["qa"][0] | {"category": 5}
    _, found = await measured(tmp_path, [QUESTIONS[0] | {"qa": [trap]}])
    assert found["evidence_recall"]["questions"] == 1
    assert found["evidence_pooled"] is None


async def test_facts_that_turns_need_are_sticky(tmp_path):
    _, found = await measured(tmp_path, FACTS)
    assert found["sticky"] == {"recall": 1, "precision": 1, "right": 1, "found": 1, "needed": 1}


async def test_follow_ups_are_kept_with_what_they_refer_to(tmp_path):
    _, found = await measured(tmp_path, FOLLOW_UPS, recent_messages=0)
    assert found["follow_ups"]["complete"] == found["follow_ups"]["followed"] == 1


async def test_messages_of_a_chat_come_back_to_the_topic_that_they_were_taken_from(tmp_path):
    _, found = await measured(tmp_path, CHAT)
    assert found["same_topic"]["topics"] == 4
    assert found["same_topic"]["recall"] > 0.9
    assert found["same_topic"]["precision"] > 0.9


async def test_what_is_sent_is_counted_in_tokens_and_a_fallback_sends_all(tmp_path):
    _, found = await measured(tmp_path, SEGMENTS, recent_messages=0)
    assert found["selections"]["tokens_saved_share"] == pytest.approx(0.5, abs=0.1)
    unheard_of = [QUESTIONS[0] | {"qa": [{"question": "Tea?", "evidence": ["D1:1"]}]}]
    _, found = await measured(tmp_path, unheard_of, relevance="plain")
    assert found["selections"]["fallback_share"] == 1
    assert found["selections"]["tokens_saved_share"] == 0


async def test_a_model_that_fails_ends_the_run_instead_of_counting_as_a_fallback(tmp_path):
    class Failing(SubjectEmbedder):
        async def embed(self, texts):
            raise ModelFailed("the embedder is down")

    with pytest.raises(ModelFailed, match="talk-1: the embedder is down"):
        await measured(tmp_path, QUESTIONS, Failing())


async def test_vectors_that_were_made_are_kept_also_when_a_run_is_cut_short(tmp_path):
    class Stops(SubjectEmbedder):
        async def embed(self, texts):
            if self.asked:
                raise ModelFailed("no more")
            return await super().embed(texts)

    path = write(tmp_path / "talk.json", [*SEGMENTS, *SEGMENTS, *SEGMENTS])
    kind, dialogues = read_dialogues(path)
    for embedder in (Stops(), Stops()):
        with pytest.raises(Exception, match="no more"):
            await measured_files(
                [("talk.json", kind, dialogues)],
                embedder,
                FilterSettings(),
                cache=tmp_path / "cache",
            )
    assert len(list((tmp_path / "cache").iterdir())) == 1
    assert SEGMENTS[0]["utterances"][0] not in embedder.asked


async def test_progress_is_told_after_each_dialogue(tmp_path):
    path = write(tmp_path / "talk.json", [*SEGMENTS, *SEGMENTS])
    kind, dialogues = read_dialogues(path)
    told = []
    await measured_files(
        [("talk.json", kind, dialogues)],
        SubjectEmbedder(),
        FilterSettings(),
        on_progress=lambda *said: told.append(said),
    )
    assert told == [("talk.json", 1, 2), ("talk.json", 2, 2)]


async def test_the_table_has_a_line_for_each_measure_that_the_file_has(tmp_path):
    _, questions = await measured(tmp_path, QUESTIONS)
    _, facts = await measured(tmp_path, FACTS)
    lines = dict(rows_of(questions))
    assert (lines["dialogues"], lines["evidence recall @10"]) == ("1", "1.000")
    assert not {"sticky recall", "same-topic F1"} & lines.keys()
    assert dict(rows_of(facts))["sticky recall"] == "1.000"


@pytest.mark.parametrize(
    ("kinds", "has_own_weights", "words"),
    [
        pytest.param(["chat", "typed"], False, "on LoCoMo", id="the package's weights"),
        pytest.param(["typed"], True, "these weights were fitted to", id="weights of one's own"),
        pytest.param(["chat"], False, "", id="own chats only"),
    ],
)
async def test_the_report_says_which_figures_are_in_sample(kinds, has_own_weights, words):
    note = in_sample_note(kinds, has_own_weights=has_own_weights)
    assert words in note
    assert bool(note) == bool(words)


async def test_the_picture_has_a_row_for_each_file_with_similarities(tmp_path):
    result, _ = await measured(tmp_path, SEGMENTS)
    root = ET.fromstring(result.picture())
    assert root.find("{http://www.w3.org/2000/svg}title").text == "subjects, enriched"
    assert "talk.json: every threshold" in {words.text for words in root.iter()}


async def test_a_text_is_embedded_once_also_by_the_next_run(tmp_path):
    first = SubjectEmbedder()
    embedder = RememberingEmbedder(first, tmp_path / "cache")
    rows = await embedder.embed(["a boat", "bread", "a boat"])
    assert first.asked == ["a boat", "bread"]
    np.testing.assert_array_equal(rows[0], rows[2])
    embedder.keep()

    second = SubjectEmbedder()
    again = await RememberingEmbedder(second, tmp_path / "cache").embed(["bread", "a kite"])
    assert second.asked == ["a kite"]
    np.testing.assert_array_equal(again[0], rows[1])


async def test_another_model_has_vectors_of_its_own(tmp_path):
    embedder = RememberingEmbedder(SubjectEmbedder(), tmp_path)
    await embedder.embed(["a boat"])
    embedder.keep()
    other = SubjectEmbedder()
    other.name = "another"
    await RememberingEmbedder(other, tmp_path).embed(["a boat"])
    assert other.asked == ["a boat"]


async def test_damaged_vectors_are_rebuilt(tmp_path, caplog):
    embedder = RememberingEmbedder(SubjectEmbedder(), tmp_path)
    await embedder.embed(["a boat"])
    embedder.keep()
    (path,) = tmp_path.iterdir()
    path.write_bytes(b"PK\x03\x04 and nothing more")
    fresh = SubjectEmbedder()
    with caplog.at_level(logging.WARNING):
        await RememberingEmbedder(fresh, tmp_path).embed(["a boat"])
    assert fresh.asked == ["a boat"]
    assert "rebuilt" in caplog.text


async def test_a_folder_that_can_t_be_written_costs_nothing_but_time(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    embedder = RememberingEmbedder(SubjectEmbedder(), tmp_path / "file" / "cache")
    await embedder.embed(["a boat"])
    embedder.keep()
    assert "not kept" in caplog.text


async def test_without_a_folder_nothing_is_kept():
    embedder = RememberingEmbedder(SubjectEmbedder(), None)
    assert (await embedder.embed(["a boat"])).shape == (1, 5)
    embedder.keep()
