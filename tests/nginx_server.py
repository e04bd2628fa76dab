"""An nginx for tests, the system's, on loopback, set up as docs/team.md says."""

import os
import re
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

from tests.patience import PATIENCE_S
from tests.postgres_server import HOST

PROGRAM = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
_DOCUMENT = Path(__file__).parent.parent / "docs" / "team.md"

_AROUND = """
{user} daemon off; pid {folder}/pid; error_log {folder}/errors;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
    uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    {documented}
}}
"""


def documented(port, servers, person="", people=None):
    """The document's settings, with these addresses in place of its own.

    Args:
        people: A file of names and passwords, for the settings that ask for them.
    """
    blocks = re.findall(r"```nginx\n(.*?)```", _DOCUMENT.read_text(), re.DOTALL)
    block, own = blocks[people is not None], " ".join(f"server {each};" for each in servers)
    block, upstreams = re.subn(r"(?:server [\w.]+:8377; ?)+", own, block)
    block, listens = re.subn(r"listen (443 ssl|80);.*", f"listen {HOST}:{port};", block)
    assert (upstreams, listens) == (1, 1)
    if people is not None:
        block, files = re.subn(r"/etc/nginx/people", str(people), block)
        assert files == 1
    if person:
        block = block.replace(
            "proxy_http_version", f"proxy_set_header X-User {person}; proxy_http_version"
        )
    return block


@contextmanager
def nginx_server(folder, port, servers, person="", people=None):
    """Run until the block ends, in front of servers, each `host:port`.

    Args:
        person: Whom it names to the servers, as a company's proxy does once somebody has logged in.
        people: A file of names and passwords, which it asks for, and names who has them.
    """
    user = "" if os.geteuid() else "user root;"
    settings = folder / "nginx.conf"
    text = _AROUND.format(
        user=user, folder=folder, documented=documented(port, servers, person, people)
    )
    settings.write_text(text)
    process = subprocess.Popen([PROGRAM, "-p", folder, "-c", settings])
    try:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            with socket.socket() as attempt:
                if not attempt.connect_ex((HOST, port)):
                    break
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.01)
        yield f"http://{HOST}:{port}"
    finally:
        process.terminate()
        process.wait(PATIENCE_S)
