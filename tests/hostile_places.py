"""What may lie in a folder under the name of a plain file."""

import hashlib
import os
import socket

SECRET = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAE"
"""What the file holds that no link may lead to."""


def make_outside(parent):
    """A folder with somebody's private files, old enough to be cleared up."""
    folder = parent / "outside"
    (folder / "inner").mkdir(parents=True)
    texts = {
        "key.json": f'{{"messages": [{{"role": "user", "content": "{SECRET}"}}]}}',
        "a" * 64: SECRET,
        "a.md": SECRET,
        "inner/b.md": SECRET,
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
        os.utime(folder / name, (1_000_000_000, 1_000_000_000))
    return folder


def print_of(folder):
    """Another value as soon as anything in a folder is written, made, deleted or touched."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        digest.update(repr((str(path), status.st_mode, status.st_mtime_ns)).encode())
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _socket(path, _outside):
    with socket.socket(socket.AF_UNIX) as server:
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            server.bind(f"/proc/self/fd/{folder}/{path.name}")  # such names are short
        finally:
            os.close(folder)


def _sparse(path, _outside):
    with path.open("wb") as file:
        file.truncate(5 << 30)


KINDS = {
    "a link to a file": lambda path, outside: path.symlink_to(outside / "key.json"),
    "a link to a folder": lambda path, outside: path.symlink_to(outside),
    "a link to a device": lambda path, _outside: path.symlink_to("/dev/zero"),
    "a link to the terminal": lambda path, _outside: path.symlink_to("/dev/tty"),
    "a FIFO": lambda path, _outside: os.mkfifo(path),
    "a socket": _socket,
    "a folder": lambda path, _outside: path.mkdir(),
    "a file of 5 GB": _sparse,
}
"""Each makes what it is called at a path; `outside` is the folder that links lead to."""


def lay(kind, path, outside):
    """Put something of a kind at a path, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    KINDS[kind](path, outside)
