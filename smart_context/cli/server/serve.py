"""`smart-context serve`, `demo` and `mcp`: processes that run until they are ended."""

import contextlib
import gc
import importlib.util
import shutil
import socket
import sys
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import click

from smart_context.base.disk.folders import PRIVATE_FILE, PRIVATE_FOLDER
from smart_context.base.errors import CommandFailed
from smart_context.base.installed import how_to_add
from smart_context.base.text.names import shown
from smart_context.base.threads import run
from smart_context.cli.terminal.arguments import vault_argument, vault_root, with_options
from smart_context.cli.terminal.failures import BadUsage
from smart_context.cli.terminal.output import say
from smart_context.web.limits import MIN_TOKEN_CHARS

DEFAULT_PORT = 8377
MADE_BETWEEN = 10_000
"""The new objects between two garbage collections: a turn of a long chat makes as many."""
COLLECTIONS = 5, 2
"""The number of young collections before one of older objects, and of these before a full one."""
THAW_S = 3600
"""The time between full collections that include the objects frozen before."""

SWITCH_S = 0.001
"""The time for which a computing thread may keep others waiting, such as the event loop's.

Rendering four pages at once delayed everybody else by 0.4 s; with this, by 0.07 s.
"""

_OLDEST = 2  # the generation of a full collection
_M_ARENA_MAX, _M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD = -8, -3, -1
_ARENAS = 2
"""The number of heaps of glibc; by default eight for each processor."""

_LARGE_BYTES = 256 << 10
"""Blocks of at least this size are taken from the system singly, and given back when free."""

DEMO_VAULT = Path(__file__).resolve().parents[2] / "demo_vault"


def _check_token(
    _context: click.Context, _option: click.Parameter, token: str | None
) -> str | None:
    if token is None:
        return None
    chars = len(token.strip())
    if chars < MIN_TOKEN_CHARS:
        raise click.BadParameter(
            f"expected at least {MIN_TOKEN_CHARS} characters, since a shorter one can be guessed; "
            f"found {chars}. Make one with: openssl rand -hex 16"
        )
    return token.strip()


def _check_host(_context: click.Context, _option: click.Parameter, host: str) -> str:
    try:
        socket.getaddrinfo(host, None, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        told = f"expected an address or name of this machine, found {host!r}"
        raise click.BadParameter(told) from None
    return host


_serving = with_options(
    (
        click.option(
            "--port",
            default=DEFAULT_PORT,
            show_default=True,
            type=click.IntRange(0, 65535),
            help="The port; 0 picks a free one.",
        ),
        click.option(
            "--host",
            default="127.0.0.1",
            show_default=True,
            callback=_check_host,
            help="Address to bind.",
        ),
        click.option(
            "--token",
            envvar="SMART_CONTEXT_TOKEN",
            callback=_check_token,
            help="The token for programs, at least 16 characters; --host needs one. "
            "Default: a new one.",
        ),
        click.option("--no-browser", is_flag=True, help="Print the link; don't open a browser."),
    )
)


@click.command()
@vault_argument
@_serving
def serve(vault: Path | None, port: int, host: str, token: str | None, no_browser: bool) -> None:
    """Serve VAULT, a folder of notes, and open it in the browser.

    Nothing is written to the folder until you chat.
    """
    _run(vault_root(vault), port=port, host=host, token=token, no_browser=no_browser)


@click.command()
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    help="Put the vault here and keep it. Default: a temporary folder.",
)
@_serving
def demo(keep: Path | None, port: int, host: str, token: str | None, no_browser: bool) -> None:
    """Try Smart Context on a vault with notes and chats. No key, no network."""
    with demo_vault(keep) as root:
        say(f"The demonstration's vault: {shown(root)}", err=True)
        _run(root, port=port, host=host, token=token, no_browser=no_browser)


@contextlib.contextmanager
def demo_vault(keep: Path | None = None) -> Iterator[Path]:
    """A fresh copy of the demonstration's vault; a temporary one is removed afterwards.

    A folder to keep that has something in it already is served as it is.
    """
    if keep is not None:
        keep.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        if not any(keep.iterdir()):
            _copy_demo(keep)
        yield keep.resolve()
        return
    with tempfile.TemporaryDirectory(
        prefix="smart-context-demo-", ignore_cleanup_errors=True
    ) as folder:
        root = Path(folder).resolve()
        _copy_demo(root)
        yield root


def _copy_demo(root: Path) -> None:
    shutil.copytree(DEMO_VAULT, root, dirs_exist_ok=True)
    (root / "memory").rename(root / ".memory")
    # The copies have the rights of the installed files, which all may read.
    for path in (root, *root.rglob("*")):
        path.chmod(PRIVATE_FOLDER if path.is_dir() else PRIVATE_FILE)


def _run(root: Path, *, port: int, host: str, token: str | None, no_browser: bool) -> None:
    from smart_context.app.composition import read_vault  # noqa: PLC0415 - keeps --help fast
    from smart_context.app.serving import serve_vault  # noqa: PLC0415 - keeps --help fast
    from smart_context.web.gate.door import NEW_LINK  # noqa: PLC0415 - the same
    from smart_context.web.gate.request_facts import check_exposure  # noqa: PLC0415 - the same
    from smart_context.web.gate.session_record import LINK_S  # noqa: PLC0415 - the same

    try:
        check_exposure(host, token)
    except CommandFailed as error:
        if not read_vault(root).access.has_people:
            raise BadUsage(str(error)) from error

    def announce(new_link: Callable[[], str]) -> None:
        link, once = new_link(), ""
        if "token=" in link:
            once = f"It works once, within {LINK_S // 60} minutes. Another: {NEW_LINK}\n"
        say(f"Smart Context serves {shown(root)}\n\n  {link}\n\n{once}Stop it with Ctrl+C.")
        sys.stdout.flush()
        if not no_browser:  # which some systems wait for, and it for the server
            opening = partial(webbrowser.open, new_link())
            threading.Thread(target=opening, name="browser", daemon=True).start()

    _collect_in_small_steps()
    _give_memory_back()
    sys.setswitchinterval(SWITCH_S)
    run(serve_vault(root, host=host, port=port, token=token, on_ready=announce))


def _collect_in_small_steps() -> None:
    """Limit each garbage collection to the objects that are new since the last one.

    A collection stops all threads. The objects of libraries take a tenth of a second, and a chat
    of 90,000 messages another: objects that survive one are left out of the next ones
    (`gc.freeze`). Cycles of these that become unused are found every `THAW_S` seconds.
    """
    thawed = time.monotonic()

    def freeze(phase: str, info: dict[str, int]) -> None:
        nonlocal thawed
        if info["generation"] < _OLDEST:
            return
        if phase == "stop":
            gc.freeze()
        elif time.monotonic() - thawed > THAW_S:
            thawed = time.monotonic()
            gc.unfreeze()

    gc.freeze()
    gc.set_threshold(MADE_BETWEEN, *COLLECTIONS)
    gc.callbacks.append(freeze)


def _give_memory_back() -> None:
    """Give freed memory back to the system, if the C library is glibc (mallopt(3)).

    Otherwise each thread that ever read a long chat keeps a heap of that size, and the matrices of
    a chat stay as well: glibc raises its own threshold to 32 MB once a large block was freed.
    """
    if sys.platform == "linux":
        with contextlib.suppress(ImportError, OSError, AttributeError):
            import ctypes  # noqa: PLC0415 - not in every Python

            c_library = ctypes.CDLL(None)
            c_library.mallopt(_M_ARENA_MAX, _ARENAS)
            c_library.mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
            c_library.mallopt(_M_TRIM_THRESHOLD, _LARGE_BYTES)


@click.command()
@vault_argument
@click.option("--write", is_flag=True, help="Also let agents set filters, pin and hide messages.")
def mcp(vault: Path | None, write: bool) -> None:
    """Give agents the chats and notes of VAULT by MCP, on stdin and stdout.

    It works without the server and beside it. Agents only read, unless you allow more.
    """
    root = vault_root(vault)
    if importlib.util.find_spec("mcp") is None:
        raise CommandFailed(f"MCP is not installed. To add it: {how_to_add('mcp')}")
    run(_serve(root, write=write))


async def _serve(root: Path, *, write: bool) -> None:
    from smart_context.app.composition import running_host  # noqa: PLC0415 - keeps --help fast
    from smart_context.mcp_server.protocol import serve_stdio  # noqa: PLC0415 - the same
    from smart_context.mcp_server.toolbox import Toolbox  # noqa: PLC0415 - the same

    async with running_host(root) as host:
        await serve_stdio(Toolbox(host, is_writable=write), host.caller)
