"""The bubbles within a client of MCP: a page in a sandbox that asks its host for everything."""

import re

import pytest
from playwright.sync_api import expect

from smart_context.mcp_server.protocol import topics_page
from tests.vaults import about, write_chat

pytestmark = pytest.mark.browser

HOST = """
<iframe sandbox="allow-scripts" style="width: 100%; height: 400px; border: 0"></iframe>
<script>
  window.heard = [];
  const app = document.querySelector("iframe");
  const say = (message) => app.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
  addEventListener("message", async ({ data: { id, method, params } }) => {
    heard.push({ method, params });
    if (method === "ui/initialize") {
      const { protocolVersion } = params;
      const hostCapabilities = { serverTools: {}, updateModelContext: { text: {} } };
      say({ id, result: { protocolVersion, hostCapabilities, hostContext: { theme: "dark" } } });
    } else if (method === "ui/notifications/initialized") {
      const given = { chat_id: "pets" };
      say({ method: "ui/notifications/tool-result", params: await callTool("topics", given) });
    } else if (method === "tools/call") {
      say({ id, result: await callTool(params.name, params.arguments) });
    } else if (id !== undefined) say({ id, result: {} });
  });
</script>
"""
MESSAGES = about("cats purr when they sleep", "cats sleep all day", "boats need new sails")


@pytest.fixture
def server(tmp_path, serve):
    (tmp_path / "vault").mkdir()
    topics = [{"label": "Cats & naps"}, {"label": "<b>Boats</b>"}]
    write_chat(tmp_path / "vault", "pets", MESSAGES, topics=topics)
    return serve(tmp_path / "vault")


@pytest.fixture
def host(chromium, server):
    """A page of a client that shows the bubbles, in a browser that reaches no network."""

    def call_tool(name, given):
        return {"structuredContent": server.ask(f"tools.{name}", **given)}

    context = chromium.new_context(offline=True, viewport={"width": 400, "height": 500})
    page = context.new_page()
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.expose_function("callTool", call_tool)
    page.set_content(HOST)
    page.eval_on_selector("iframe", "(frame, page) => { frame.srcdoc = page; }", topics_page())
    yield page
    context.close()
    assert faults == []


def test_bubbles_are_picked_in_a_client_and_its_model_is_told(host, server):
    app = host.frame_locator("iframe")
    cats = app.get_by_role("button", name="Cats & naps")
    expect(app.get_by_role("button", name="<b>Boats</b>")).to_be_visible()
    cats.click()
    expect(cats).to_have_attribute("aria-pressed", "true")
    expect(app.get_by_role("status")).to_have_text(re.compile(r"messages in context · \d+ of \d+"))
    told = host.evaluate(
        "heard.filter(({ method }) => method === 'ui/update-model-context').at(-1)"
    )
    assert "the chat pets: Cats & naps" in told["params"]["content"][0]["text"]
    assert server.ask("tools.topics", chat_id="pets")["active_topics"] == []

    app.get_by_role("button", name="Send only these from now on").click()
    host.wait_for_function("heard.some(({ params }) => params?.name === 'set_filter')")
    expect(app.get_by_role("status")).to_have_text(re.compile("messages in context$"))
    assert server.ask("tools.topics", chat_id="pets")["active_topics"] == ["Cats & naps"]
