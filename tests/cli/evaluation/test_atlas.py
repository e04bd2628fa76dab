"""Archives are made of dialogues with known subjects, and the atlas is measured on them."""

import pytest

from smart_context.base.errors import CommandFailed
from smart_context.cli.evaluation.atlas import measured_atlas
from smart_context.cli.evaluation.dialogues import read_dialogues
from tests.cli.evaluation.files import SEGMENTS, SUBJECTS, SubjectEmbedder, write

pytestmark = pytest.mark.anyio


def dialogue(subject, about=None):
    said = [f"How do I mend a {about or subject}?", f"Mend the {about or subject} with glue."]
    return {"typed": f"my {subject}", "utterances": said * 3}


async def measured(tmp_path, document):
    _, dialogues = read_dialogues(write(tmp_path / "talk.json", document))
    return await measured_atlas(dialogues, SubjectEmbedder(), chats=30)


async def test_chats_on_one_subject_meet_and_nothing_is_split_or_mixed(tmp_path):
    found = await measured(tmp_path, [dialogue(subject) for subject in SUBJECTS])
    for half in (*found["found"].values(), *found["known"].values()):
        assert (half["atlas"], half["split"], half["mixed"], half["subjects"]) == (1, 0, 0, 2)
    assert found["known"]["report"]["centroids"] == 1


async def test_a_subject_in_two_topics_and_a_topic_of_two_subjects_are_counted(tmp_path):
    unlike = [dialogue("boat"), dialogue("boat", about="bread")]
    alike = [dialogue("kite", about="piano"), dialogue("piano")]
    found = await measured(tmp_path, [*unlike, *alike, dialogue("bread", about="boat")])
    halves = found["known"].values()
    assert sum(half["split"] for half in halves) >= 1
    assert min(half["atlas"] for half in halves) < 1


async def test_files_without_subjects_are_refused_in_words(tmp_path):
    with pytest.raises(CommandFailed, match="at least two"):
        await measured(tmp_path, SEGMENTS)
