"""Roles of chats through the host: chosen, packed, in the prompt, and what goes wrong with them."""

import pytest

from smart_context.base.errors import ConfigInvalid, InvalidParams

pytestmark = pytest.mark.anyio

COOK = """
description = "Cooks."
system_prompt = "You are a cook."
template = "planning.j2"

[context]
include = ["recipes/*.md"]
exclude = ["recipes/secret.md"]
"""
RECIPES = {
    "roles/cook.toml": COOK,
    "recipes/bread.md": "Flour and water.",
    "recipes/secret.md": "The secret sauce.",
}


def system_prompt(served):
    first = served.asked[0]
    return first["content"] if first["role"] == "system" else ""


async def send(running, text="hello"):
    return await running.call("chat.send", chat_id="c", message=text, stream=False)


async def test_shipped_roles_and_the_vaults_own_are_listed(notes, served):
    notes(RECIPES)
    async with served() as running:
        shown = await running.call("roles", chat_id="c")
    assert shown["current"] == ""
    assert {role["name"]: role["source"] for role in shown["roles"]} == {
        "cook": "vault",
        "implementer": "shipped",
        "planner": "shipped",
        "reviewer": "shipped",
    }
    assert shown["roles"][0] == {"name": "cook", "description": "Cooks.", "source": "vault"}


async def test_a_role_brings_its_words_its_files_and_its_template_and_survives_a_restart(
    notes, served
):
    notes(RECIPES)
    async with served() as running:
        shown = await running.call("set_role", chat_id="c", role="cook")
        assert shown.pop("roles")[0]["name"] == "cook"
        assert shown == {"chat_id": "c", "current": "cook", "targets": [], "problem": ""}
        await send(running, "bake")
    async with served() as running:
        assert (await running.call("roles", chat_id="c"))["current"] == "cook"
        await send(running, "bake")
        assert system_prompt(running) == (
            "You are a cook.\n\n## Repository Context\n\n"
            "### recipes/bread.md\n\n```\nFlour and water.\n```"
        )
        assert running.asked[-1]["content"] == ("# Task\n\nPlan this; change nothing yet.\n\nbake")
        await running.call("set_role", chat_id="c", role="")
        await send(running, "bake")
        assert system_prompt(running) == ""
        assert running.asked[-1]["content"] == "bake"


async def test_what_the_user_wrote_is_what_is_stored(notes, served):
    notes(RECIPES)
    async with served() as running:
        await running.call("set_role", chat_id="c", role="cook")
        await send(running, "bake")
        stored = await running.host.services.storage.chats.messages("c")
    assert stored[0].text == "bake"


async def test_a_change_of_role_is_told_to_all_clients(served):
    async with served() as running:
        await running.call("set_role", chat_id="c", role="reviewer")
        await running.call("set_role", chat_id="c", role="")
    told = [news["role"] for news in running.named("smart_context.filter_changed")]
    assert told == ["reviewer", ""]


async def test_preview_receipt_and_request_agree_about_the_role(notes, served):
    notes({**RECIPES, "plain.md": "A plain note."})
    async with served() as running:
        await running.call("set_role", chat_id="c", role="cook")
        await running.call("add_notes", chat_id="c", paths=["plain.md"])
        shown = await running.call("preview", chat_id="c", message="bake")
        await send(running, "bake")
        assert running.asked == shown["prompt"]
        system = system_prompt(running)
        assert system.index("You are a cook.") < system.index("A plain note.")
        receipt = await running.call("receipt", chat_id="c")
    assert receipt["prompt"] == shown["prompt"]
    assert receipt["parts"] == shown["parts"]
    assert shown["parts"]["role"] > 10
    section = next(part for part in receipt["sections"] if part["name"] == "Role cook")
    assert section["tokens"] == shown["parts"]["role"]
    assert section["sent"] == ["recipes/bread.md"]


async def test_an_unknown_role_is_refused_and_the_known_ones_are_named(served):
    async with served() as running:
        with pytest.raises(InvalidParams, match=r"no role 'cok'.*implementer"):
            await running.call("set_role", chat_id="c", role="cok")
        assert (await running.call("roles", chat_id="c"))["current"] == ""


async def test_a_role_with_faults_is_listed_with_them_and_can_not_be_chosen(notes, served):
    notes({"roles/odd.toml": "tokn_budget = 5\n"})
    async with served() as running:
        listed = (await running.call("roles", chat_id="c"))["roles"]
        odd = next(role for role in listed if role["name"] == "odd")
        assert "did you mean 'token_budget'?" in odd["problem"]
        with pytest.raises(ConfigInvalid, match="tokn_budget"):
            await running.call("set_role", chat_id="c", role="odd")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        pytest.param(lambda path: path.unlink(), "there is no role 'cook'", id="gone"),
        pytest.param(lambda path: path.write_text("= ="), "not valid TOML", id="no TOML"),
        pytest.param(lambda path: path.write_text("tree = 3"), "tree: unknown", id="typo"),
    ],
)
async def test_a_turn_goes_on_without_a_role_that_broke_and_says_why(notes, served, spoil, words):
    vault = notes(RECIPES)
    async with served() as running:
        await running.call("set_role", chat_id="c", role="cook")
        spoil(vault / "roles/cook.toml")
        running.trust_the_vault()
        await send(running, "bake")
        assert running.asked == [{"role": "user", "content": "bake"}]
        assert words in (await running.call("receipt", chat_id="c"))["problem"]
        assert words in (await running.call("preview", chat_id="c"))["problem"]
        assert words in (await running.call("get_topics", chat_id="c"))["problem"]
        assert words in (await running.call("roles", chat_id="c"))["problem"]


async def test_a_template_that_fails_leaves_the_message_as_it_is_and_says_so(notes, served):
    notes({**RECIPES, "roles/templates/planning.j2": "{{ nothing_of_that_name }}"})
    async with served() as running:
        await running.call("set_role", chat_id="c", role="cook")
        await send(running, "bake")
        assert running.asked[-1]["content"] == "bake"
        assert "You are a cook." in system_prompt(running)
        problem = (await running.call("receipt", chat_id="c"))["problem"]
    assert "planning.j2" in problem
    assert "nothing_of_that_name" in problem


async def test_targets_are_kept_with_the_role_and_packed(notes, served):
    notes({"a.py": "import b\n", "b.py": "B = 1\n", "c.py": "C = 1\n"})
    async with served() as running:
        shown = await running.call("set_role", chat_id="c", role="implementer", targets=["a.py"])
        assert shown["targets"] == ["a.py"]
        await send(running)
        system = system_prompt(running)
    assert "## Target Files\n\n### a.py" in system
    assert "## Imports\n\n### b.py" in system
    assert "c.py" not in system


async def test_files_of_a_role_are_read_again_only_when_they_change(notes, served):
    vault = notes(RECIPES)
    async with served() as running:
        await running.call("set_role", chat_id="c", role="cook")
        await send(running)
        (vault / "recipes/bread.md").write_text("Flour, water and salt.")
        (vault / "recipes/soup.md").write_text("Water.")
        await send(running)
    assert "Flour, water and salt." in system_prompt(running)
    assert "### recipes/soup.md" in system_prompt(running)


async def test_what_is_over_the_budget_is_left_out_and_named(notes, served):
    long = "flour " * 5_000
    notes({**RECIPES, "recipes/long.md": long, "roles/cook.toml": f"token_budget = 500\n{COOK}"})
    async with served() as running:
        await running.call("set_role", chat_id="c", role="cook")
        await send(running)
        assert system_prompt(running) == "You are a cook."
        sections = (await running.call("receipt", chat_id="c"))["sections"]
    section = next(part for part in sections if part["name"] == "Role cook")
    assert "without Repository Context, over the token budget" in section["why"]
    assert section["left_out"] == ["recipes/bread.md", "recipes/long.md"]


async def test_a_role_keeps_within_its_share_of_the_models_window(vault, notes, served):
    long = "flour " * 5_000
    notes(
        {
            **RECIPES,
            "roles/cook.toml": f'{COOK}always_include = ["recipes/long.md"]\n',
            "recipes/long.md": long,
        }
    )
    (vault / ".vault.toml").write_text(
        '[llm]\nbase_url = "http://127.0.0.1:9/v1"\n[llm.categories]\n'
        'chat = { model = "gpt-4o", context_window = 4000 }\n'
    )
    async with served() as running:
        await running.call("set_role", chat_id="c", role="cook")
        shown = await running.call("preview", chat_id="c", message="hi")
    assert 1_000 < shown["parts"]["role"] <= 1_200
    assert "over its 1,200 tokens" in shown["problem"]


async def test_a_choice_of_a_role_can_be_taken_back(served):
    async with served() as running:
        await running.call("set_role", chat_id="c", role="planner", targets=["a"])
        assert (await running.call("undo", chat_id="c"))["undone"] == "the role"
        shown = await running.call("roles", chat_id="c")
    assert (shown["current"], shown["targets"]) == ("", [])


async def test_a_preview_under_another_role_changes_nothing(notes, served):
    notes(RECIPES)
    async with served() as running:
        shown = await running.call("preview", chat_id="c", message="bake", role="cook")
        assert shown["role"] == "cook"
        assert shown["prompt"][0]["content"].startswith("You are a cook.")
        assert (await running.call("roles", chat_id="c"))["current"] == ""
