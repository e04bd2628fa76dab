"""Nothing leaves the machine, and nothing is written, that the user did not ask for."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from smart_context.cli.server.serve import demo_vault
from tests.cli.evaluation.files import SEGMENTS, write
from tests.fake_openai import FakeOpenAI
from tests.preloaded import run_to_end
from tests.serving import serving
from tests.vaults import KEY, settings_text
from tests.walled import walled

pytestmark = pytest.mark.slow
ELSEWHERE = ("203.0.113.9", 80)
SAID = "How do I make leek soup?"
OWN = {".cache/smart-context", ".config/smart-context", ".local/state/smart-context"}


def reaching_out(_folder):
    """A program that asks for a name and connects, without Python's own modules knowing."""
    connects = f"exec 3<>/dev/tcp/{ELSEWHERE[0]}/{ELSEWHERE[1]}"
    subprocess.run(["timeout", "0.3", "bash", "-c", connects], check=False, capture_output=True)


def everyday(folder):
    """Everything that a user does in a day; gives the ports that were theirs."""
    env = {"HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"), **KEY}
    os.environ.update(env)
    asked = folder / "asked"
    for new in (folder / "home", folder / "tmp", asked):
        new.mkdir()
    write(folder / "talk.json", SEGMENTS)
    with FakeOpenAI() as endpoint, demo_vault() as demo:
        text = settings_text(endpoint.base_url, relevance='"enriched"')
        (asked / ".vault.toml").write_text(text, encoding="utf-8")
        # The first line begins what the others are forked from, once.
        codes = [run_to_end(line)[0] for line in (("doctor", demo), ("trust", asked, "--yes"))]
        with ThreadPoolExecutor() as threads:
            served = [threads.submit(chats, vault) for vault in (asked, demo)]
            lines = [("doctor", asked), ("eval", folder / "talk.json")]
            ended = [threads.submit(run_to_end, line) for line in lines]
            ports = [future.result() for future in served]
            codes += [future.result()[0] for future in ended]
    assert codes == [0, 0, 0, 0]
    assert [SAID] in [[m["content"] for m in r.messages] for r in endpoint.chat_requests]
    assert SAID in [text for r in endpoint.embedding_requests for text in r.body["input"]]
    return [endpoint.port, *ports]


def chats(vault):
    """Serve a vault and use it as a person does; gives the port."""
    with serving(vault) as server:
        with server.connect() as client:
            said = client.call("chat.send", message=SAID)
            chat_id = said["chat_id"]
            client.wait_for("smart_context.extraction", chat_id=chat_id)
            topics = client.call("smart_context.get_topics", chat_id=chat_id)["topics"]
            labels = [topic["label"] for topic in topics if not topic.get("sticky")]
            chosen = labels[:1] or ["soup"]  # the fake endpoint finds no topics
            client.call("smart_context.set_filter", chat_id=chat_id, topics=chosen)
            client.call("chat.send", chat_id=chat_id, message="And for six people?")
        assert server.request("GET", "/")[0] == 200
        return int(server.origin.rpartition(":")[2])


def test_the_recorder_sees_what_any_program_sends(tmp_path):
    report = walled(f"{__name__}:reaching_out", tmp_path)
    assert list(ELSEWHERE) in report["contacted"]


@pytest.fixture(scope="module")
def day(tmp_path_factory):
    folder = tmp_path_factory.mktemp("day")
    return folder, walled(f"{__name__}:everyday", folder)


def test_only_the_configured_endpoint_and_the_own_server_are_contacted(day):
    _, report = day
    allowed = [["127.0.0.1", port] for port in report["returned"]]
    assert [place for place in report["contacted"] if place not in allowed] == []


def test_nothing_is_left_in_the_home_folder_but_our_own(day):
    folder, _ = day
    left = {
        str(p.relative_to(folder / "home")) for p in (folder / "home").rglob("*") if p.is_file()
    }
    assert [name for name in left if not any(name.startswith(f"{own}/") for own in OWN)] == []
    assert list((folder / "tmp").iterdir()) == []
