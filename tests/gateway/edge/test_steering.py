"""What is picked, pinned, hidden or attached in the panel decides what a client's request sends."""

import json

import pytest

from tests.fake_openai import Reply
from tests.gateway.asking import ApiClient, provided_vault
from tests.gateway.saying import assistant, system, user

LAMPS = "The lighthouse lamp burns"
BEES = "A garden for bees"
TALK = [
    system("Be kind."),
    user("Tell me about the lighthouse lamp"),
    assistant(LAMPS),
    user("Tell me about bees in the garden"),
    assistant(BEES),
]
CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


class Chat:
    """One client's chat under its own name."""

    def __init__(self, server, provider, name):
        self.server = server
        self.provider = provider
        self.name = name
        self.client = ApiClient(server)

    def send(self, *messages, **fields):
        return self.client.chat(
            *messages, headers={"X-Smart-Context-Chat": self.name, **fields.pop("headers", {})}
        )

    @property
    def sent(self):
        return self.provider.chat_requests[-1].messages

    def ask(self, command, **params):
        return self.server.ask(f"smart_context.{command}", chat_id=self.name, **params)

    @property
    def saved(self):
        return self.server.ask("memory.load_chat", chat_id=self.name)["messages"]

    def id_of(self, text):
        return next(message["id"] for message in self.saved if message["content"] == text)


@pytest.fixture
def chat(server, provider, request):
    talk = Chat(server, provider, request.node.name.replace("[", "-").replace("]", ""))
    provider.reply_with(LAMPS, BEES)
    talk.send(*TALK[:2])
    talk.send(*TALK[:4])
    while len(talk.saved) < len(TALK) - 1:
        pass  # a client may have its answer before that is saved
    return talk


NEXT = user("What did you say of the lamp?")


def test_a_picked_topic_leaves_out_the_rest(chat):
    chat.ask("set_filter", topics=["lighthouse lamp"])
    answer = chat.send(*TALK, NEXT)
    assert chat.sent == [*TALK[:3], NEXT]
    assert (answer.headers["x-smart-context-in"], answer.headers["x-smart-context-out"]) == (
        "6",
        "4",
    )
    chat.ask("set_filter", topics=[])
    chat.send(*TALK, NEXT)
    assert chat.sent == [*TALK, NEXT]


def test_the_panels_preview_is_what_is_sent(chat):
    chat.ask("set_filter", topics=["bees garden"])
    preview = chat.ask("preview", message=NEXT["content"])
    chat.send(*TALK, NEXT)
    assert preview["prompt"] == chat.sent


def test_the_receipt_says_what_was_sent_and_for_whom(chat):
    chat.ask("set_filter", topics=["lighthouse lamp"])
    answer = chat.send(*TALK, NEXT)
    receipt = chat.ask("receipt", turn=answer.receipt)
    assert receipt["prompt"] == chat.sent
    assert receipt["kind"] == "turn"
    assert receipt["endpoint"] == chat.provider.base_url
    assert receipt["client"] == "unknown"
    assert [row["in"] for row in receipt["messages"]] == [True, True, True, False, False]


def test_hidden_messages_stay_out(chat):
    chat.ask("hide", message_ids=[chat.id_of(BEES)])
    chat.send(*TALK, NEXT)
    assert chat.sent == [*TALK[:4], NEXT]


def test_the_client_can_turn_it_off(chat):
    chat.ask("set_filter", topics=["lighthouse lamp"])
    chat.send(*TALK, NEXT, headers={"X-Smart-Context": "off"})
    assert chat.sent == [*TALK, NEXT]


def test_a_role_goes_into_the_system_text_and_is_not_stored(chat):
    chat.ask("set_role", role="reviewer")
    chat.send(*TALK, NEXT)
    told = chat.sent[0]["content"]
    assert told.startswith("Be kind.\n\n")
    assert len(told) > 100
    assert chat.sent[1:] == [*TALK[1:], NEXT]
    document = chat.server.ask("memory.load_chat", chat_id=chat.name)
    assert document["messages"][0]["content"] == "Be kind."
    assert chat.ask("preview", message=NEXT["content"])["prompt"][0]["content"] == told


def test_what_other_chats_said_goes_into_the_system_text_and_is_not_stored(chat):
    elsewhere = {"messages": [{"id": "m", "role": "user", "content": "The lamp needs oil."}]}
    chat.server.ask("memory.save_chat", chat_id=f"{chat.name}-other", data=elsewhere)
    chat.ask("recall", from_chat=f"{chat.name}-other")
    answer = chat.send(*TALK, NEXT)
    told = chat.sent[0]["content"]
    assert told.startswith("Be kind.\n\n# Recalled from other chats")
    assert told.endswith(">\nThe lamp needs oil.\n</said>")
    assert chat.sent[1:] == [*TALK[1:], NEXT]
    assert chat.ask("preview", message=NEXT["content"])["prompt"][0]["content"] == told
    assert chat.ask("receipt", turn=answer.receipt)["parts"]["recalls"] > 0
    document = chat.server.ask("memory.load_chat", chat_id=chat.name)
    assert "oil" not in str(document)
    for recall in chat.ask("recalls")["recalls"]:
        chat.ask("forget_recall", recall_id=recall["recall_id"])
    chat.send(*TALK, NEXT)
    assert chat.sent == [*TALK, NEXT]


def test_a_pinned_message_that_the_client_has_cut_is_brought_back(chat):
    chat.ask("pin", message_ids=[chat.id_of(LAMPS)])
    chat.send(TALK[0], *TALK[3:], NEXT)
    assert chat.sent == [TALK[0], TALK[2], *TALK[3:], NEXT]


def test_a_cut_list_is_not_made_longer(chat):
    chat.send(TALK[0], *TALK[3:], NEXT)
    assert chat.sent == [TALK[0], *TALK[3:], NEXT]


def test_what_follows_the_question_stays_whatever_is_picked(chat):
    chat.ask("set_filter", topics=["lighthouse lamp"])
    steps = [
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "Clover everywhere"},
    ]
    chat.send(*TALK, NEXT, *steps)
    assert chat.sent == [*TALK[:3], NEXT, *steps]


def test_calls_and_results_are_left_out_together(chat):
    looked = [
        user("Look for clover in the garden"),
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "Clover in every garden."},
        assistant("There is clover."),
    ]
    chat.send(*TALK, *looked[:3])
    chat.ask("set_filter", topics=["lighthouse lamp"])
    chat.send(*TALK, *looked, NEXT)
    assert chat.sent == [*TALK[:3], NEXT]


def test_an_aside_has_a_receipt_in_its_chat(server, provider):
    talk = Chat(server, provider, "asides")
    aside = talk.send(user("### Task:\nSuggest a title"))
    turn = talk.send(user("Hello"))
    kinds = {r["turn"]: r["kind"] for r in talk.ask("receipts")["receipts"]}
    assert kinds == {aside.receipt: "aside", turn.receipt: "turn"}


def test_a_history_that_the_provider_holds_goes_on_as_it_is(server, provider):
    content = [{"type": "output_text", "text": "x"}]
    output = [{"type": "message", "role": "assistant", "content": content}]
    response = {"object": "response", "status": "completed", "output": output}

    def reply(number):
        body = {"id": f"resp_{number}", **response}
        provider.reply_with(Reply(body=json.dumps(body).encode()), path="/responses")

    client = ApiClient(server)
    reply(1)
    first = client.respond("Tell me about the lamp")
    reply(2)
    second = client.respond("And then?", previous_response_id="resp_1")
    assert second.chat == first.chat
    receipts = server.ask("smart_context.receipts", chat_id=first.chat)["receipts"]
    assert [r["kind"] for r in receipts] == ["held by the provider", "turn"]
    texts = [m["content"] for m in server.ask("memory.load_chat", chat_id=first.chat)["messages"]]
    assert texts == ["Tell me about the lamp", "x", "And then?", "x"]


def test_items_of_responses_are_filtered_by_their_units(server, provider):
    client = ApiClient(server)
    server_chat = {"X-Smart-Context-Chat": "items"}
    said = {"type": "message", "role": "assistant"}
    items = [
        user("Tell me about the lighthouse lamp"),
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "AAAA"},
        {**said, "content": [{"type": "output_text", "text": LAMPS}]},
        user("Tell me about bees in the garden"),
        {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "BBBB"},
        {**said, "content": [{"type": "output_text", "text": BEES}]},
    ]
    body = {"id": "resp_x", "object": "response", "status": "completed", "output": []}
    provider.reply_with(*[Reply(body=json.dumps(body).encode())] * 2, path="/responses")
    client.respond([*items[:3], user("Go on")], headers=server_chat)
    server.ask("smart_context.set_filter", chat_id="items", topics=["lighthouse lamp"])
    answer = client.respond([*items, NEXT], headers=server_chat)
    sent = [r for r in provider.requests if r.path == "/responses"][-1].body["input"]
    assert sent == [*items[:3], NEXT]
    assert answer.headers["x-smart-context-out"] == "4"


def test_what_was_compacted_is_replaced_by_its_summary(chat):
    said = chat.send(*TALK, NEXT).text
    chat.server.ask("chat.clear_context", chat_id=chat.name)
    chat.send(*TALK, NEXT, assistant(said), user("And now?"))
    texts = [m["content"] for m in chat.sent]
    assert texts[0] == "Be kind."
    assert texts[-1] == "And now?"
    assert LAMPS not in texts
    assert not chat.server.ask("memory.load_chat", chat_id=chat.name).get("branches")


def test_topics_that_were_summed_up_go_as_their_summary_until_that_is_undone(chat):
    found = chat.ask("refresh_topics", wait=True)["topics"]
    labels = [topic["label"] for topic in found]
    made = chat.ask("compact_topics", topics=labels, summary="It is lit.", apply=True)
    assert made["summed_up"] == [chat.id_of(m["content"]) for m in TALK[1:]]
    answer = chat.send(*TALK, NEXT)
    assert chat.sent == [TALK[0], system("It is lit."), NEXT]
    assert answer.headers["x-smart-context-out"] == "3"
    chat.send(*TALK, NEXT, headers={"X-Smart-Context": "off"})
    assert chat.sent == [*TALK, NEXT]
    chat.server.ask("chat.undo_compaction", chat_id=chat.name)
    chat.send(*TALK, NEXT)
    assert chat.sent == [*TALK, NEXT]


PLUGIN = """
class Plugin:
    async def on_load(self, context):
        context.subscribe("pipeline.input", self.check)
        context.subscribe("pipeline.llm", self.answer)

    async def check(self, turn):
        if "secret" in turn.message:
            turn.abort("Secrets stay here.")

    async def answer(self, turn):
        if "ping" in turn.message:
            turn.response = "pong"
"""


@pytest.mark.parametrize("is_offline", [False, True], ids=["a provider", "without one"])
def test_plugins_can_end_or_answer_a_clients_turn(tmp_path, is_offline):
    def settings(text):
        folder = tmp_path / "vault" / "plugins" / "guard"
        folder.mkdir(parents=True)
        (folder / "main.py").write_text(PLUGIN, encoding="utf-8")
        manifest = 'id = "guard"\nname = "Guard"\nversion = "1.0.0"\nmin_host_version = "0.1.0"\n'
        manifest += 'description = "x"\nentry = "main:Plugin"\n'
        manifest += 'subscribes = ["pipeline.input", "pipeline.llm"]\ncommands = []\n'
        (folder / "plugin.toml").write_text(manifest, encoding="utf-8")
        text = "" if is_offline else text
        return f"{text}\n[plugins.guard]\nenabled = true\n"

    with provided_vault(tmp_path, settings=settings) as (server, provider):
        client = ApiClient(server)
        refused = client.chat(user("My secret"))
        assert refused.status == 422
        assert "Secrets stay here." in refused.json["error"]["message"]
        answered = client.chat(user("ping"))
        assert answered.text == "pong"
        assert not provider.chat_requests
        chat = answered.headers["x-smart-context-chat"]
        [_, answer] = server.ask("memory.load_chat", chat_id=chat)["messages"]
        assert "extracted" not in answer


def test_the_panel_says_that_the_provider_holds_the_history(server, provider):
    body = {"id": "resp_held", "object": "response", "status": "completed", "output": []}
    provider.reply_with(*[Reply(body=json.dumps(body).encode())] * 3, path="/responses")
    client, chat = ApiClient(server), {"X-Smart-Context-Chat": "held"}

    def problem():
        return server.ask("smart_context.get_topics", chat_id="held")["problem"]

    client.respond("Tell me about the lamp", headers=chat)
    assert problem() == ""
    client.respond("And then?", headers=chat, previous_response_id="resp_held")
    assert problem().startswith("The provider holds this chat's history")
    client.respond([user("Tell me about the lamp")], headers=chat)
    assert problem() == ""


def test_the_receipt_says_what_the_tool_results_of_a_run_cost(server, provider):
    talk = Chat(server, provider, "agent")
    calls = [{**CALL, "id": f"call_{n}"} for n in range(3)]
    run = [user("Look around")]
    for number, call in enumerate(calls):
        run += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": "found it " * (number + 1)},
        ]
    talk.send(*run)
    shown = talk.ask("receipt")
    rows = [row for row in shown["messages"] if row["role"] == "tool"]
    assert [row["kind"] for row in rows] == ["current"] * 3
    costs = [row["tokens"] for row in rows]
    assert costs == sorted(costs)
    assert costs[0] > 0
    assert shown["tool_results"]["messages"] == 3
    assert shown["tool_results"]["tokens"] == sum(costs)
    assert sum(shown["parts"].values()) >= sum(row["tokens"] for row in shown["messages"])
    assert [row["in"] for row in shown["messages"]] == [True] * 6
    said = [row["text"] for row in shown["messages"] if row["role"] == "assistant"]
    assert said == [f"Calls {CALL['function']['name']}"] * 3
    status, page = server.request("GET", f"/chats/agent/turns/{shown['turn']}")
    assert status == 200
    assert f"3 tool results sent: {sum(costs):,} tokens" in page
    assert f"<summary>3 tool results · {sum(costs):,} tokens</summary>" in page


LEAD = "You are an agent for software engineering. Never commit unless you are asked to."
RECALL = (
    "You are acting as the memory extraction subagent. Analyze only the recent conversation, "
    "and use it to update the memory."
)
SCAN = "Scan the recent conversation history in your context and update the managed memory."
TOLD = "The keeper lit the lamp at dusk and kept it burning until the dawn came."
SAVED = "Nothing of what was said has to be kept beyond this conversation, so no file changes."
LATER = "Ships saw it from twenty miles away, and set their course by it all night long."


@pytest.mark.parametrize("named", [{"X-Session-Id": "background"}, {}], ids=["named", "by answers"])
def test_work_of_a_client_over_the_history_leaves_the_chat_as_it_was(server, provider, named):
    client = ApiClient(server)

    def send(answer, *messages):
        provider.reply_with(answer)
        return client.chat(*messages, headers=named)

    def stored(chat):
        return server.ask("memory.load_chat", chat_id=chat)

    talk = [system(LEAD), user(f"Who lit the lamp, {len(named)}?"), assistant(TOLD)]
    turn = send(TOLD, *talk[:2])
    before = stored(turn.chat)["messages"]
    work = send(SAVED, system(RECALL), *talk[1:], user(SCAN))
    assert stored(turn.chat)["messages"] == before
    assert provider.chat_requests[-1].messages == [system(RECALL), *talk[1:], user(SCAN)]
    following = send(LATER, *talk, user("Who saw it?"))
    assert {turn.chat, work.chat, following.chat} == {turn.chat}
    chat = stored(turn.chat)
    assert [m["content"] for m in chat["messages"]] == [
        LEAD,
        *(m["content"] for m in talk[1:]),
        "Who saw it?",
        LATER,
    ]
    assert "branches" not in chat
    receipts = server.ask("smart_context.receipts", chat_id=turn.chat)["receipts"]
    kinds = {r["turn"]: r["kind"] for r in receipts}
    assert kinds == {turn.receipt: "turn", work.receipt: "aside", following.receipt: "turn"}


def test_a_client_that_goes_on_from_what_was_taken_for_an_aside_has_it_in_its_chat(
    server, provider
):
    talk = Chat(server, provider, "taken-for-an-aside")

    def send(answer, *messages):
        provider.reply_with(answer)
        return talk.send(*messages)

    history = [user("Who lit the lamp?"), assistant(TOLD)]
    turn = send(TOLD, system(LEAD), history[0])
    asked = [system(RECALL), *history, user(SCAN), assistant(SAVED)]
    taken = send(SAVED, *asked[:-1])
    following = send(LATER, *asked, user(f"{SCAN} Once more."))
    stored = server.ask("memory.load_chat", chat_id=turn.chat)
    texts = [m["content"] for m in stored["messages"]]
    assert texts == [*(m["content"] for m in asked), f"{SCAN} Once more.", LATER]
    again = send(TOLD, *asked, user(f"{SCAN} Once more."), assistant(LATER), user(f"{SCAN} And?"))
    kinds = {r["turn"]: r["kind"] for r in talk.ask("receipts")["receipts"]}
    assert kinds == {
        turn.receipt: "turn",
        taken.receipt: "aside",
        following.receipt: "turn",
        again.receipt: "turn",
    }


def test_what_a_client_asks_under_a_pick_stays_in_it(chat):
    chat.ask("set_filter", topics=["lighthouse lamp"])
    chat.provider.reply_with("Bees sleep in the hive")
    chat.send(*TALK, user("Where do the garden bees sleep?"))
    chat.ask("refresh_topics", wait=True, regroup=True)
    asked = chat.id_of("Where do the garden bees sleep?")
    answered = chat.id_of("Bees sleep in the hive")
    shown = chat.ask("preview", message="And now?")
    why = {row["id"]: row["reason"] for row in shown["messages"]}
    said = "in: said while lighthouse lamp was picked"
    assert why[asked] == why[answered] == said
    chat.ask("set_filter", topics=["garden bees"])
    kept = chat.ask("set_filter", topics=["lighthouse lamp"])
    assert {asked, answered} <= set(kept["message_ids"])
