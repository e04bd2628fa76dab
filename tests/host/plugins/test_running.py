"""Plugins of the product and of a vault start, fail and stop."""

import asyncio
import py_compile
import sys

import pytest

from smart_context.base.errors import UnknownCommand
from smart_context.host.plugins.loader import PluginModules, declared_settings
from tests.host.conftest import Page, until
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

SPEAKS = """\
from . import words

class Plugin:
    async def on_load(self, context):
        context.register_command("{name}.say", self.say)

    async def say(self) -> dict:
        return {{"said": words.WORD}}
"""


async def test_two_plugins_may_have_modules_of_one_name(make_bench, running):
    bench = make_bench()
    packages = []
    for name in ("one", "two"):
        folder = bench.add_plugin(name, SPEAKS.format(name=name), words=f"WORD = '{name}'")
        packages.append(PluginModules(folder, {}).package)
    paths = [*sys.path]
    async with running(bench):
        assert (await bench.call("one.say"), await bench.call("two.say")) == (
            {"said": "one"},
            {"said": "two"},
        )
        assert sys.path == paths
        assert "main" not in sys.modules
        assert "words" not in sys.modules
        assert all(package in sys.modules for package in packages)
    assert not [name for name in sys.modules if name.startswith(tuple(packages))]
    assert not list(bench.vault.rglob("__pycache__"))
    assert not list(bench.vault.rglob("*.pyc"))


async def test_a_plugin_of_a_vault_may_have_packages(make_bench, running):
    bench = make_bench()
    code = SPEAKS.format(name="one").replace("from . import words", "from .inner import words")
    folder = bench.add_plugin("one", code)
    (folder / "inner").mkdir()
    (folder / "inner" / "__init__.py").write_text("from .words import *")
    (folder / "inner" / "words.py").write_text("from .. import more as words\nWORD = words.WORD")
    (folder / "more.py").write_text("WORD = 'deep'")
    bench.trust_the_vault()
    async with running(bench):
        assert await bench.call("one.say") == {"said": "deep"}


async def test_byte_code_in_a_vault_is_never_run(make_bench, running):
    bench = make_bench()
    folder = bench.add_plugin("one", SPEAKS.format(name="one"), words="WORD = 'source'")
    py_compile.compile(str(folder / "words.py"), cfile=str(folder / "words.pyc"))
    (folder / "words.py").unlink()
    bench.trust_the_vault()
    async with running(bench):
        assert bench.states()["one"] == "failed"
        assert "words" in bench.reason("one")


async def test_plugins_of_a_vault_do_not_run_until_it_is_trusted(make_bench, running):
    bench = make_bench()
    code = SPEAKS.format(name="one") + "\nopen('RAN', 'w')\n"
    bench.add_plugin("one", code.replace("RAN", str(bench.outside / "ran")), trust=False, words="")
    async with running(bench):
        assert bench.states() == {"quiet": "running", "one": "untrusted"}
        assert f"smart-context trust {bench.vault}" in bench.reason("one")
        with pytest.raises(UnknownCommand):
            await bench.call("one.say")
    assert not (bench.outside / "ran").exists()


async def test_a_changed_file_ends_the_trust(make_bench, running):
    bench = make_bench()
    folder = bench.add_plugin("one", SPEAKS.format(name="one"), words="WORD = 'a'")
    (folder / "words.py").write_text("WORD = 'b'")
    async with running(bench):
        assert bench.states()["one"] == "untrusted"


async def test_a_file_that_changes_after_the_check_is_not_run(make_bench, running):
    bench = make_bench()
    code = """\
import importlib
from pathlib import Path

class Plugin:
    async def on_load(self, context):
        Path(__file__).with_name("late.py").write_text("print('run')")
        importlib.import_module(".late", __package__)
"""
    bench.add_plugin("one", code, late="pass")
    async with running(bench):
        assert bench.states()["one"] == "failed"
        assert "changed after the vault was trusted" in bench.reason("one")


NICE = """\
class Plugin:
    async def on_load(self, context):
        context.register_command(f"{context.plugin_id}.ping", self.ping)

    async def ping(self) -> dict:
        return {"pong": True}
"""


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        pytest.param("def", "SyntaxError", id="does not parse"),
        pytest.param("raise ValueError('no')", "ValueError: no", id="raises when imported"),
        pytest.param("import sys; sys.exit(3)", "SystemExit: 3", id="exits when imported"),
        pytest.param("import nowhere", "ModuleNotFoundError", id="lacks a module"),
        pytest.param("from .a.b import c", "no module 'a'", id="lacks a module of its own"),
        pytest.param("class Other: pass", "no class Plugin", id="lacks the class"),
        pytest.param("class Plugin: pass", "async def on_load", id="lacks on_load"),
        pytest.param(
            "class Plugin:\n  def on_load(self, context): pass", "async def on_load", id="plain"
        ),
        pytest.param(NICE + "\n  def on_unload(self): pass\n", "", id="odd indent"),
        pytest.param(
            NICE + "\n    def on_unload(self): pass\n", "on_unload needs", id="plain on_unload"
        ),
        pytest.param(
            NICE + "\n    async def on_unload(self, why): pass\n",
            "Plugin.on_unload needs 'async def on_unload(self)'",
            id="an on_unload that wants more",
        ),
        pytest.param(
            NICE + "\n    async def on_client_connected(self): pass\n",
            "Plugin.on_client_connected needs 'async def on_client_connected(self, client)'",
            id="an on_client_connected that takes nothing",
        ),
        pytest.param("next(iter(()))", "StopIteration", id="runs out of items when imported"),
        pytest.param(
            NICE.replace("self.ping)", "self.ping)\n        raise ValueError('late')"),
            "ValueError: late",
            id="raises in on_load",
        ),
        pytest.param(
            NICE.replace("self.ping)", "self.ping)\n        raise SystemExit"),
            "SystemExit",
            id="exits in on_load",
        ),
        pytest.param(
            "import asyncio\n"
            + NICE.replace("self.ping)", "self.ping)\n        await asyncio.Event().wait()"),
            "took longer than 5 s",
            id="hangs in on_load",
        ),
        pytest.param(
            "import threading\nthreading.Event().wait()",
            "took longer than 5 s",
            id="hangs when imported",
        ),
        pytest.param(
            NICE.replace('f"{context.plugin_id}.ping"', '"good.ping"'), "begin", id="another's name"
        ),
        pytest.param(
            NICE.replace('f"{context.plugin_id}.ping"', '"chat.send"'), "begin", id="our name"
        ),
        pytest.param(
            NICE.replace("self.ping)", "self.ping)\n        " * 2).strip(), "", id="odd ending"
        ),
    ],
)
async def test_a_plugin_that_fails_is_reported_undone_and_the_others_run(
    make_bench, running, caplog, code, reason
):
    # Short only where something hangs: the good one has to make it in time, too.
    bench = make_bench(**({"load_timeout_s": 5} if "took longer" in reason else {}))
    bench.add_plugin("bad", code)
    bench.add_plugin("good", NICE)
    async with running(bench):
        assert bench.states() == {"quiet": "running", "bad": "failed", "good": "running"}
        assert reason in bench.reason("bad")
        assert "plugin bad: failed" in caplog.text
        assert await bench.call("good.ping") == {"pong": True}
        with pytest.raises(UnknownCommand):
            await bench.call("bad.ping")
        listed = (await bench.call("system.plugins"))["plugins"]
        assert [entry["state"] for entry in listed] == ["running", "failed", "running"]


async def test_a_taken_name_is_reported_and_the_first_keeps_it(make_bench, running):
    bench = make_bench()
    twice = NICE.replace(
        "self.ping)", 'self.ping)\n        context.register_command("bad.ping", self.ping)'
    )
    bench.add_plugin("bad", twice)
    async with running(bench):
        assert "bad.ping is registered already" in bench.reason("bad")
        assert await bench.call("chat.new")


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        ("colour = 1\n", "unknown key"),
        ('min_host_version = "99.0"\n', "needs Smart Context 99.0"),
    ],
)
async def test_a_manifest_that_does_not_fit_is_reported(make_bench, running, manifest, reason):
    bench = make_bench()
    bench.add_plugin("bad", NICE, manifest)
    async with running(bench):
        assert bench.states()["bad"] == "failed"
        assert reason in bench.reason("bad")


async def test_a_plugin_cannot_take_the_products_id(make_bench, running):
    bench = make_bench()
    bench.add_plugin("quiet", NICE)
    async with running(bench):
        (ours, theirs) = bench.host.plugins.states()
        assert (ours.source, ours.state) == ("built-in", "running")
        assert (theirs.source, theirs.state) == ("vault", "failed")


async def test_only_what_is_turned_on_runs_and_what_is_absent_is_said(make_bench, running):
    bench = make_bench()
    bench.add_plugin("off", NICE)
    bench.configure("[plugins.off]\nenabled = false\n[plugins.gone]\nenabled = true\n")
    async with running(bench):
        assert bench.states() == {"quiet": "running", "off": "disabled", "gone": "missing"}
        assert "no folder plugins/gone" in bench.reason("gone")


async def test_the_products_plugin_runs_unless_turned_off(make_bench, running):
    bench = make_bench()
    bench.configure("[plugins.quiet]\nenabled = false\n")
    async with running(bench):
        assert bench.states() == {"quiet": "disabled"}


FULL = """\
import asyncio

NOTES = []

class Plugin:
    async def on_load(self, context):
        self.context = context
        context.subscribe("pipeline.input", self.shout, priority=3)
        context.register_command("full.notes", self.notes)
        context.register_panel(html="<p>hi</p>")
        context.spawn(self.work())
        NOTES.append(dict(context.settings))

    async def work(self):
        try:
            await asyncio.Event().wait()
        finally:
            NOTES.append("work ended")

    async def shout(self, turn):
        turn.message = turn.message.upper()
        self.context.emit("full.shouted", {"chat_id": turn.chat_id})

    async def notes(self) -> dict:
        return {"notes": NOTES, "model": self.context.models.chat.name}

    async def on_client_connected(self, client):
        client.send("full.hello", {"id": client.id})

    async def on_unload(self):
        NOTES.append("unloaded")
        with open(PATH, "w") as file:
            file.write(repr(NOTES))
"""
FULL_MANIFEST = """\
commands = ["full.notes"]
[panel]
title = "Full"
icon = "star"
position = "left"
[settings.level]
type = "number"
default = 1
"""


async def test_a_plugin_has_hooks_commands_a_panel_work_events_settings_and_models(
    make_bench, running
):
    bench = make_bench()
    bench.add_plugin("full", FULL + f"\nPATH = {str(bench.outside / 'notes')!r}\n", FULL_MANIFEST)
    bench.configure("[plugins.full]\nenabled = true\nlevel = 2\n")
    panel = {
        "id": "full",
        "title": "Full",
        "icon": "star",
        "position": "left",
        "url": "/panels/full",
    }
    async with running(bench):
        assert bench.states()["full"] == "running"
        result = await bench.call("full.notes")
        assert result == {"notes": [{"enabled": True, "level": 2.0}], "model": "scripted"}

        await bench.call("chat.send", message="quiet", chat_id="c1")
        assert bench.model.asked[0].messages[-1]["content"] == "QUIET"
        assert bench.named("full.shouted") == [{"chat_id": "c1"}]

        await bench.host.client_connected(bench.page)
        assert bench.page.events == [
            ("ui.register_panel", panel),
            ("full.hello", {"id": "page"}),
        ]
        assert bench.host.panels.page("full") == "<p>hi</p>"

        bench.configure("[plugins.full]\nenabled = false\n")
        await bench.host.reload(bench.config())
        assert bench.states()["full"] == "disabled"
        assert bench.named("ui.remove_panel") == [{"id": "full"}]
        assert bench.host.panels.page("full") is None
        with pytest.raises(UnknownCommand):
            await bench.call("full.notes")
        await bench.call("chat.send", message="quiet", chat_id="c1")
        assert bench.model.asked[1].messages[-1]["content"] == "quiet"
    notes = (bench.outside / "notes").read_text()
    assert notes.endswith("'work ended', 'unloaded']")


CONNECTS = (
    NICE
    + """
    async def on_client_connected(self, client):
        raise ValueError("no client")
"""
)


async def test_a_plugin_that_fails_at_a_client_does_not_disturb_others(make_bench, running, caplog):
    bench = make_bench()
    bench.add_plugin("bad", CONNECTS)
    code = CONNECTS.replace('raise ValueError("no client")', 'client.send("good.hello", {})')
    bench.add_plugin("good", code)
    async with running(bench):
        await bench.host.client_connected(bench.page)
        assert bench.page.events == [("good.hello", {})]
        assert "plugin bad: on_client_connected: ValueError: no client" in caplog.text


LISTENS = """\
class Plugin:
    async def on_load(self, context):
        self.context = context
        context.subscribe("memory.chat_changed", self.note)
        context.subscribe("chat.opened", self.note)

    async def note(self, payload):
        self.context.emit("ears.heard", payload)
"""


async def test_a_plugin_that_lists_its_events_gets_no_others(make_bench, running):
    bench = make_bench()
    bench.add_plugin("deaf", LISTENS, 'subscribes = ["memory.chat_changed"]\n')
    both = 'subscribes = ["memory.chat_changed", "chat.opened"]\n'
    bench.add_plugin("ears", LISTENS, both)
    async with running(bench):
        assert (bench.states()["deaf"], bench.states()["ears"]) == ("failed", "running")
        assert "'chat.opened' is not listed under subscribes" in bench.reason("deaf")
        await bench.call("chat.open", chat_id="c1")
        await until(lambda: bench.named("ears.heard"))


async def test_plugins_can_hear_of_chats(make_bench, running):
    bench = make_bench()
    bench.add_plugin("ears", LISTENS)
    async with running(bench):
        await bench.call("chat.open", chat_id="c1")
        await until(lambda: bench.named("ears.heard"))
        await bench.call("memory.save_chat", chat_id="c2", data={"messages": []})
        await until(lambda: len(bench.named("ears.heard")) == 2)
        assert [heard["chat_id"] for heard in bench.named("ears.heard")] == ["c1", "c2"]
        assert bench.named("chat.opened") == []


@pytest.mark.parametrize("event", ["chat.finished", "memory.chat_changed", "ui.remove_panel"])
async def test_a_plugin_cannot_send_in_the_hosts_name(make_bench, running, event):
    bench = make_bench()
    code = NICE.replace("self.ping)", f"self.ping)\n        context.emit({event!r}, {{}})")
    bench.add_plugin("bad", code)
    async with running(bench):
        assert "is an event of the host" in bench.reason("bad")
        assert bench.named(event) == []


async def test_reloading_restarts_only_what_changed(make_bench, running):
    bench = make_bench()
    counting = """\
class Plugin:
    async def on_load(self, context):
        context.emit(f"{context.plugin_id}.loaded", dict(context.settings))
"""
    level = '[settings.level]\ntype = "integer"\ndefault = 1\n'
    bench.add_plugin("one", counting, level)
    bench.add_plugin("two", counting, level)
    async with running(bench):
        bench.configure("plugins.one = {enabled = true, level = 2}\nplugins.two.enabled = true")
        await bench.host.reload(bench.config())
        assert [load["level"] for load in bench.named("one.loaded")] == [1, 2]
        assert len(bench.named("two.loaded")) == 1
        assert bench.named("system.config_read") == [{}]
        await bench.host.reload(bench.config(), bench.models())
        assert len(bench.named("two.loaded")) == 2


async def test_a_plugin_whose_file_changes_is_stopped_at_the_next_reload(make_bench, running):
    bench = make_bench()
    folder = bench.add_plugin("one", NICE)
    async with running(bench):
        (folder / "main.py").write_text(NICE + "\n# changed")
        await bench.host.reload(bench.config())
        assert bench.states()["one"] == "untrusted"
        with pytest.raises(UnknownCommand):
            await bench.call("one.ping")


async def test_a_plugin_that_will_not_stop_does_not_hold_up_the_host(make_bench, running, caplog):
    bench = make_bench()
    hanging = """\
import asyncio

class Plugin:
    async def on_load(self, context):
        pass

    async def on_unload(self):
        await asyncio.Event().wait()
"""
    bench.add_plugin("one", hanging)
    await bench.start()
    async with asyncio.timeout(PATIENCE_S):
        await bench.host.stop()
    assert "did not stop" in caplog.text or "took longer" in caplog.text


def test_settings_that_plugins_declare_run_no_code(make_bench):
    bench = make_bench()
    level = '[settings.level]\ntype = "integer"\ndefault = 1\n'
    bench.add_plugin("one", "raise SystemExit", level, trust=False)
    bench.add_plugin("broken", "", "nonsense = 1\n", trust=False)
    (bench.vault / "plugins" / ".hidden").mkdir()
    declared = declared_settings(bench.vault)
    assert declared["smart_context"]["enabled"].default is True
    assert declared["one"]["enabled"].default is False
    assert declared["one"]["level"].default == 1
    assert declared.keys() == {"smart_context", "one"}


async def test_two_clients_are_shown_the_panels_each(make_bench, running):
    bench = make_bench()
    bench.add_plugin(
        "one", NICE.replace("self.ping)", "self.ping)\n        context.register_panel()")
    )
    async with running(bench):
        pages = [Page("a"), Page("b")]
        for page in pages:
            await bench.host.client_connected(page)
        assert [name for page in pages for name, _ in page.events] == ["ui.register_panel"] * 2
