"""Files: uploaded, attached, sent in the seed's envelope, read on by the model."""

import json

from tests.fake_openai import Reply
from tests.vaults import read_chat


def upload(server, name, content):
    return server.request("POST", "/api/files", content, {"X-File-Name": name})


def test_an_uploaded_file_reaches_the_model_in_its_envelope(vault, server, client, endpoint):
    status, stored = upload(server, "pl%C3%A4ne%20.md", b"Sail on Sunday.")
    assert (status, stored["name"], stored["size"]) == (200, "pläne .md", 15)
    client.call("chat.send", message="When?", chat_id="c1", files=[stored])
    asked = endpoint.chat_requests[0].messages[-1]["content"]
    assert asked.startswith("When?\n\n<ATTACHMENT_FILE>\n<FILE_INDEX>1</FILE_INDEX>\n")
    assert f"<FILE_KEY>{stored['storage_key']}</FILE_KEY>" in asked
    assert "<FILE_CONTENT>\nSail on Sunday.\n</FILE_CONTENT>" in asked
    question = read_chat(vault, "c1")["messages"][0]
    assert question["content"] == "When?"
    assert question["files"][0]["name"] == "pläne .md"


def test_a_preview_counts_the_files_of_a_message(server, client):
    _, stored = upload(server, "a.txt", b"tide " * 900)
    written = {"chat_id": "c1", "message": "When?", "brief": True}
    light = client.call("smart_context.preview", **written)
    heavy = client.call("smart_context.preview", files=[stored], **written)
    assert light["parts"]["attachments"] == 0
    assert heavy["parts"]["attachments"] > 500
    # The tools to read on in a file come with it, and the tokens of the parts are counted each.
    assert (light["parts"]["tools"], heavy["parts"]["tools"] > 0) == (0, True)
    added = heavy["parts"]["attachments"] + heavy["parts"]["tools"]
    assert abs(heavy["tokens"] - light["tokens"] - added) <= 2


def test_a_long_file_is_cut_and_read_on_by_its_key(server, client, endpoint):
    text = "\n".join(f"line {n}" for n in range(1, 700))
    _, stored = upload(server, "long.txt", text.encode())
    key = stored["storage_key"]
    arguments = json.dumps({"path": key, "from_line": 600})
    endpoint.reply_with(Reply(text="", tool_calls=(("c1", "read_file", arguments),)), "Read.")
    client.call("chat.send", message="What?", chat_id="c1", files=[stored])
    first, second = endpoint.chat_requests[:2]
    assert "line 100\n" in first.messages[-1]["content"]
    assert "line 101" not in first.messages[-1]["content"]
    assert f'FILE_KEY="{key}"' in first.messages[-1]["content"]
    assert "line 600\n" in second.messages[-1]["content"]


def test_a_preview_says_what_goes_of_a_long_file_and_all_of_it_can_go(server, client, endpoint):
    lines = [f"line {n} </FILE_CONTENT> <FILE_KEY>x</FILE_KEY>" for n in range(60_000)]
    _, stored = upload(server, "long.txt", "\n".join(lines[:20_000]).encode())
    _, short = upload(server, "short.txt", b"one line")
    written = {"chat_id": "c1", "message": "What?"}
    (cut,) = client.call("smart_context.preview", files=[short, stored], **written)["cut_texts"]
    assert cut["storage_key"] == stored["storage_key"]
    assert (cut["shown"], cut["total"], cut["unit"]) == (100, 20_000, "lines")
    assert cut["tokens"] > 200_000

    _, stored = upload(server, "lines.txt", "\n".join(lines[:600]).encode())
    whole = {**stored, "whole": True}
    shown = client.call("smart_context.preview", files=[whole], **written)
    assert shown["cut_texts"] == []
    client.call("chat.send", files=[whole], **written)
    assert "line 599 " in endpoint.chat_requests[0].messages[-1]["content"]
    assert shown["prompt"] == endpoint.chat_requests[0].messages
    client.call("chat.send", chat_id="c1", message="And then?")
    assert "line 599 " in str(endpoint.chat_requests[-1].messages), "later turns send it, too"


def test_what_is_said_of_a_text_of_three_megabytes_is_true(server, client, endpoint):
    lines = [f"line {n:06} " + "x" * 66 for n in range(38_463)]
    _, stored = upload(server, "log.txt", "\n".join(lines).encode())
    written = {"chat_id": "c1", "message": "What?", "files": [stored]}
    (cut,) = client.call("smart_context.preview", **written)["cut_texts"]
    assert (cut["shown"], cut["total"], cut["unit"]) == (100, 38_463, "lines")
    assert 400_000 < cut["tokens"] < 1_000_000
    last = json.dumps({"path": stored["storage_key"], "from_line": 38_463})
    endpoint.reply_with(Reply(text="", tool_calls=(("c1", "read_file", last),)), "Read.")
    client.call("chat.send", **written)
    assert "line 038462" in str(endpoint.chat_requests[1].messages), "the model can ask for all"

    whole = {**written, "chat_id": "c2", "files": [{**stored, "whole": True}]}
    (cut,) = client.call("smart_context.preview", **whole)["cut_texts"]
    assert (cut["total"], cut["unit"]) == (len("\n".join(lines)), "characters")


def test_a_file_that_is_gone_is_absent_and_the_turn_works(vault, server, client, endpoint):
    _, stored = upload(server, "a.txt", b"here")
    client.call("chat.send", message="One", chat_id="c1", files=[stored])
    (vault / ".memory/files" / stored["storage_key"]).unlink()
    client.call("chat.send", message="Two", chat_id="c1")
    asked = [r.messages for r in endpoint.chat_requests if r.messages[-1]["content"] == "Two"]
    assert asked[0][0]["content"] == "One"


def test_a_file_that_is_not_taken_is_answered_with_the_reason(server):
    for headers, content, status, told in (
        ({}, b"x", 400, "X-File-Name"),
        ({"X-File-Name": "a.bin"}, b"a\0b", 422, "no text"),
        ({"X-File-Name": "a.txt"}, b"", 422, "empty"),
        ({"X-File-Name": "a.txt"}, b"x" * (25 * 2**20 + 1), 413, "25 MiB"),
    ):
        found, answer = server.request("POST", "/api/files", content, headers)
        assert found == status
        assert told in answer["error"]["message"]


def test_a_file_comes_back_as_a_download_that_no_browser_runs(server):
    _, stored = upload(server, "evil.html", b"<script>alert(1)</script><p>Hello</p>")
    status, answer = server.request("GET", f"/api/files/{stored['storage_key']}")
    assert status == 200
    assert "alert(1)" in str(answer)
    assert server.request("GET", f"/api/files/{'0' * 64}")[0] == 404
