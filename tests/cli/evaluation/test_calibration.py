import json
from datetime import UTC, datetime

import pytest

from smart_context.cli.evaluation.calibration import calibrated
from smart_context.relevance.judge.calibrate import PROBABLY
from smart_context.relevance.judge.fitting import NotEnough
from smart_context.storage.files.storage import file_storage
from smart_context.storage.memory import MemoryVectors
from tests.cli.evaluation.files import CHAT, SUBJECTS, SubjectEmbedder, write

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def fill(folder, chats=2):
    folder.mkdir()
    for number in range(chats):
        write(folder / f"chat{number}.json", CHAT)
    return folder


async def fitted_to(folder, **options):
    storage = file_storage(folder)
    return await calibrated(
        storage.chats, storage.documents, SubjectEmbedder(), MemoryVectors(), **options
    )


async def test_a_scale_is_fitted_to_the_topics_of_all_chats(tmp_path):
    folder = fill(tmp_path / "chats")
    found = await fitted_to(folder, now=NOW)
    assert (found.model, found.chats, found.topics) == ("subjects", 2, 8)
    assert (found.about, found.others) == (80, 240)
    assert found.auc == 1
    assert found.fitted_at == "2026-03-01T00:00:00+00:00"
    near, far = found.about_quantiles[0], found.other_quantiles[-1]
    assert far < found.scale.probable < near
    assert [path.name for path in sorted((tmp_path / "chats").iterdir())] == [
        "chat0.json",
        "chat1.json",
    ]
    assert found.scale.to_user(near) >= PROBABLY > found.scale.to_user(far)


async def test_topics_that_are_kept_beside_a_chat_are_taken_as_they_are(tmp_path):
    folder = fill(tmp_path / "chats", chats=4)
    for number in range(4):
        topics = [
            {"label": subject, "count": 2, "message_ids": [f"{subject}0u", f"{subject}1u"]}
            for subject in SUBJECTS
        ]
        write(tmp_path / "chats" / f"chat{number}.topics.json", {"version": 1, "topics": topics})
    with pytest.raises(NotEnough, match="40 messages about them, found 32"):
        await fitted_to(folder)


async def test_an_empty_vault_says_what_is_missing(tmp_path):
    with pytest.raises(NotEnough, match="4 topics with known messages, found 0"):
        await fitted_to(tmp_path)


async def test_a_damaged_chat_is_passed_over(tmp_path):
    folder = fill(tmp_path / "chats", chats=2)
    (tmp_path / "chats" / "broken.json").write_text("{" + json.dumps(CHAT))
    assert (await fitted_to(folder)).chats == 2


async def test_a_chat_of_standing_instructions_only_has_no_topics_to_fit_to(tmp_path):
    folder = fill(tmp_path / "chats")
    said = [
        {"id": f"m{number}", "role": "user", "content": f"From now on, reply in {number} words."}
        for number in range(8)
    ]
    write(tmp_path / "chats" / "rules.json", {"messages": said})
    assert (await fitted_to(folder)).chats == 2
