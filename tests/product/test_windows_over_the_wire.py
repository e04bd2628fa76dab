"""The window of a model: from its server, from what it refused, and what is done about it."""

import pytest

from tests.fake_openai import Reply, failure
from tests.serving import serving
from tests.vaults import KEY, about, settings_text, write_chat

MODEL = "a-local-model"
LLAMA_CPP = {"owned_by": "llamacpp", "meta": {"n_ctx": 8_192, "n_ctx_train": 32_768}}


@pytest.fixture
def running(vault, endpoint):
    """Starts a server on the vault, with a model that no table knows."""
    endpoint.models = (MODEL, "another")

    def run(*, llm=""):
        text = settings_text(endpoint.base_url).replace("[llm]\n", f"[llm]\n{llm}\n")
        (vault / ".vault.toml").write_text(text.replace("gpt-4o", MODEL), encoding="utf-8")
        return serving(vault, env=KEY)

    return run


def asked_of(endpoint):
    """The requests of persons; the background asks another model, whenever it has time."""
    return [request for request in endpoint.chat_requests if request.body["model"] == MODEL]


def window(server):
    return server.ask("smart_context.preview", chat_id="c1", message="hi")["window"]


def test_a_server_tells_the_window_and_the_settings_know_better(running, endpoint):
    endpoint.said_of_models = LLAMA_CPP
    with running() as server:
        assert window(server) == 8_192
        assert server.ask("system.status")["chat_window"] == 8_192
        assert server.ask("system.test_model")["window"] == 8_192
        server.ask("chat.send", chat_id="c1", message="hi")
    endpoint.said_of_models = {"owned_by": "llamacpp"}
    with running() as server:  # what was told is kept
        assert window(server) == 8_192
    with running(llm="context_window = 4000") as server:
        assert window(server) == 4_000


def test_a_server_is_asked_once(running, endpoint):
    with running() as server:
        assert [window(server) for _ in range(3)] == [None] * 3
    assert [each.path for each in endpoint.requests].count("/models") == 1


def test_a_server_that_may_cut_silently_is_named_before_anything_is_sent(running, endpoint):
    endpoint.said_of_models = {"owned_by": "library"}
    with running() as server:
        shown = server.ask("smart_context.preview", chat_id="c1", message="hi")
        assert shown["window"] is None
        assert "context_window" in shown["window_note"]
    with running(llm="context_window = 4000") as server:
        shown = server.ask("smart_context.preview", chat_id="c1", message="hi")
        assert (shown["window"], shown["window_note"]) == (4_000, "")


TOO_LONG = (
    "request ({asked} tokens) exceeds the available context size (8192 tokens), try increasing it"
)


def words_of(body):
    return sum(len(str(message["content"]).split()) for message in body["messages"])


def small(body):
    """A model that takes 8,192 tokens, each of them a word."""
    asked = words_of(body)
    if asked > 8_192:
        return failure(400, TOO_LONG.format(asked=asked))
    return Reply(text="An answer", usage=(asked, 2))


NO_NUMBERS = "the request exceeds the available context size, try increasing it"


def refuses_above(most, words=NO_NUMBERS):
    """A model that takes that many tokens, each of them a word, and does not say so."""

    def answer(body):
        asked = words_of(body)
        over = words.format(over=asked - most)
        return failure(400, over) if asked > most else Reply(text="Aye", usage=(asked, 2))

    return answer


def newest(server):
    return server.ask("memory.load_chat", chat_id="long")["messages"][-1]


@pytest.mark.parametrize("llm", ["", "context_window = 100000"], ids=["unknown", "set too large"])
def test_what_fits_is_sent_at_a_click_where_a_refusal_names_no_window(
    running, endpoint, vault, llm
):
    endpoint.answer = refuses_above(2_000)
    write_chat(vault, "long", about(*(f"{n} " + "word " * 200 for n in range(60))))
    with running(llm=llm) as server:
        with pytest.raises(AssertionError, match="Too long for this model"):
            server.ask("chat.send", chat_id="long", message="And now?")
        assert len(asked_of(endpoint)) == 1
        again = {"chat_id": "long", "message_id": newest(server)["id"], "what_fits": True}
        server.ask("chat.regenerate", **again)
        assert newest(server)["content"] == "Aye"
        sizes = [words_of(request.body) for request in asked_of(endpoint)]
        assert sizes[0] > 12_000
        assert sizes == sorted(sizes, reverse=True)
        assert 700 < sizes[-1] <= 2_000
        receipt = server.ask("smart_context.receipt", chat_id="long")
        assert "refused a longer request" in receipt["problem"]
        sent = [message["content"] for message in receipt["prompt"]]
        assert sent == [m["content"] for m in asked_of(endpoint)[-1].messages]
        asked = len(sizes)
        if not llm:  # what has worked is what later requests go by
            assert 800 < window(server) < 2_700
            server.ask("chat.send", chat_id="long", message="And then?")
            assert len(asked_of(endpoint)) == asked + 1


def test_of_a_request_a_little_too_long_only_a_little_is_left_out(running, endpoint, vault):
    words = "prompt too long; exceeded max context length by {over} tokens"
    endpoint.answer = refuses_above(12_000, words)
    write_chat(vault, "long", about(*(f"{n} " + "word " * 200 for n in range(60))))
    with running() as server:
        server.ask("chat.send", chat_id="long", message="And now?")
        sizes = [words_of(request.body) for request in asked_of(endpoint)]
        assert sizes[0] > 12_000 > sizes[1] > 9_000
        assert len(sizes) == 2


def test_a_question_that_alone_is_too_long_is_not_cut_to_fit(running, endpoint):
    endpoint.answer = refuses_above(100)
    with running() as server:
        with pytest.raises(AssertionError, match="Too long for this model"):
            server.ask("chat.send", chat_id="long", message="word " * 2_000)
        again = {"chat_id": "long", "message_id": newest(server)["id"], "what_fits": True}
        with pytest.raises(AssertionError, match="The message is too long"):
            server.ask("chat.regenerate", **again)
        assert window(server) is None  # nothing is learned of what has not worked


def test_a_chat_longer_than_an_unknown_window_is_answered_and_the_receipt_says_how(
    running, endpoint, vault
):
    endpoint.answer = small
    write_chat(vault, "long", about(*(f"{n} " + "word " * 200 for n in range(60))))
    with running() as server:
        server.ask("chat.send", chat_id="long", message="And now?")
        sizes = [words_of(request.body) for request in asked_of(endpoint)]
        assert sizes[0] > 8_192 > sizes[1] > 5_000
        receipt = server.ask("smart_context.receipt", chat_id="long")
        assert "refused a longer request" in receipt["problem"]
        assert receipt["outcome"] == "finished"
        assert window(server) == 8_192
        server.ask("chat.send", chat_id="long", message="And then?")
        assert "refused" not in server.ask("smart_context.receipt", chat_id="long")["problem"]
        assert max(map(words_of, (r.body for r in asked_of(endpoint)[2:]))) < 8_192
