"""`smart-context eval` and `calibrate`, run as a user does."""

import json

import pytest

from tests.cli.evaluation.files import CHAT, FACTS, QUESTIONS, SEGMENTS, write


def test_eval_prints_a_table_for_people(smart_context, tmp_path):
    files = [
        write(tmp_path / f"{name}.json", document)
        for name, document in (("asked", QUESTIONS), ("facts", FACTS))
    ]
    code, out, err = smart_context("eval", *files, "--cache", tmp_path / "cache")
    assert (code, err) == (0, "")
    assert "asked.json (questions)" in out.splitlines()[2]
    assert any(line.startswith("evidence recall @10") for line in out.splitlines())
    assert any(line.startswith("sticky recall") for line in out.splitlines())
    assert out.splitlines()[-2].startswith("In-sample: figures on LoCoMo, MT-Bench-101")
    assert max(map(len, out.splitlines())) < 80
    assert list((tmp_path / "cache").iterdir())


def test_eval_prints_json_for_programs_and_draws_a_picture(smart_context, tmp_path):
    path = write(tmp_path / "talk.json", [*SEGMENTS, *SEGMENTS])
    code, out, _ = smart_context(
        *("eval", path, "--format", "json", "--limit", 1, "--threshold", 0.3),
        *("--plot", tmp_path / "out.svg", "--cache", tmp_path / "cache"),
    )
    found = json.loads(out)
    assert code == 0
    assert (found["threshold"], found["mode"]) == (0.3, "enriched")
    assert found["files"][0]["dialogues"] == 1
    assert found["files"][0]["agreement"]["coverage"] > 0.5
    assert (tmp_path / "out.svg").read_text(encoding="utf-8").startswith("<svg")


def test_eval_reads_a_chat_of_the_vault_and_passes_over_what_lies_beside_it(
    smart_context, vault, tmp_path
):
    chat = vault / ".memory" / "agent-debugging.json"
    side_car = write(chat.with_suffix(".filter.json"), {"version": 1})
    before = {path.name for path in vault.rglob("*")}
    code, out, _ = smart_context(
        "eval",
        chat,
        side_car,
        "--format",
        "json",
        "--mode",
        "plain",
        "--cache",
        tmp_path / "c",
        cwd=vault,
    )
    assert code == 0
    (found,) = json.loads(out)["files"]
    assert found["kind"] == "chat"
    assert found["selections"]["count"] > 0
    assert {path.name for path in vault.rglob("*")} == before


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        pytest.param(["talk.json", "--plot", "out.png"], 2, "ends in .svg", id="no svg"),
        pytest.param(["none.json"], 2, "none.json", id="no such file"),
        pytest.param(["talk.json", "--threshold", "2"], 2, "threshold", id="no such threshold"),
        pytest.param(["odd.json"], 1, "expected a dialogue file", id="another file"),
        pytest.param(["talk.json", "--kind", "facts"], 1, "not of the kind facts", id="kind"),
        pytest.param([], 2, "FILE", id="no file"),
    ],
)
def test_eval_says_what_is_wrong(smart_context, tmp_path, arguments, code, words):
    write(tmp_path / "talk.json", SEGMENTS)
    write(tmp_path / "odd.json", {"a": 1})
    found, out, err = smart_context("eval", *arguments)
    assert (found, out) == (code, "")
    assert words in err


def test_calibrate_stores_a_scale_that_the_filter_then_uses(smart_context, vault):
    code, out, _ = smart_context("calibrate", vault, "--dry-run")
    assert code == 0
    assert "Nothing was stored" in out
    assert max(map(len, out.splitlines())) < 80
    assert not (vault / ".memory" / ".calibration.json").exists()

    code, out, _ = smart_context("calibrate", vault, "--format", "json")
    assert code == 0
    stored = json.loads((vault / ".memory" / ".calibration.json").read_text())
    assert json.loads(out)["scale"] == stored["scale"]
    assert stored["model"] == "embedded/multilingual-2/all-MiniLM-L6-v2"
    assert stored["evidence"]["about"] >= 40

    def scores():
        _, text, _ = smart_context(
            "filter", "agent-debugging", "-t", "Python Async", "--format", "json", cwd=vault
        )
        return [entry["reason"] for entry in json.loads(text)["messages"]]

    fitted = scores()
    stored["scale"] = {"unrelated": 0.9, "probable": 0.95, "sure": 0.99}
    write(vault / ".memory" / ".calibration.json", stored)
    assert scores() != fitted
    code, out, _ = smart_context("chats", "list", "--format", "json", cwd=vault)
    assert len(json.loads(out)) == 5


def test_calibrate_says_what_is_missing(smart_context, tmp_path):
    (tmp_path / ".memory").mkdir()
    write(tmp_path / ".memory" / "only.json", {"messages": CHAT["messages"][:8]})
    code, out, err = smart_context("calibrate", tmp_path)
    assert (code, out) == (1, "")
    assert "expected at least 4 topics with known messages, found" in err
    assert "Nothing was changed" in err
