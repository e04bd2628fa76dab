"""The demonstration, started by the command that pip installs, and each of its pages."""

import os
import re
import subprocess
import sys
from collections import deque
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest

from tests.serving import TOKEN, Browser

COMMAND = Path(sys.executable).with_name("smart-context")
PAGES = ("/", "/new", "/topics", "/contexts", "/settings", "/clients", "/costs", "/trash", "/chats")
CHAT = "/chats/agent-debugging"


@contextmanager
def demonstrated(folder):
    """A browser that followed the link of a demonstration that runs until the block ends."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [COMMAND, "demo", "--port", "0", "--no-browser", "--token", TOKEN]
    with subprocess.Popen(
        command, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            printed = (re.search(r"http\S+", line) for line in process.stdout)
            link = next((found.group() for found in printed if found), None)
            assert link, process.stderr.read()
            yield Browser(link)
        finally:
            process.terminate()


def linked(page, address):
    """The paths that a page of the demonstration refers to, without fonts, which are no text."""
    found = re.findall(r'(?:href|src)="([^"]+)"', page)
    targets = (urldefrag(urljoin(address, one.replace("&amp;", "&"))).url for one in found)
    return [one for one in targets if not urlsplit(one).scheme and not one.endswith(".woff2")]


@pytest.mark.slow
def test_every_page_of_the_demonstration_and_what_it_refers_to_are_there(tmp_path):
    with demonstrated(tmp_path) as browser:
        waiting, seen = deque([*PAGES, CHAT, f"{CHAT}/export"]), {}
        while waiting:
            address = waiting.popleft()
            if address in seen:
                continue
            status, headers, text = browser.request("GET", address, browser.keyed)
            seen[address] = status
            if status in {302, 303, 307}:
                waiting.append(urljoin(address, headers["location"]))
            elif headers.get("content-type", "").startswith("text/html"):
                waiting += linked(text, address)
    assert {address: status for address, status in seen.items() if status >= 400} == {}
    assert {"/chats/year-of-projects", "/contexts/"} <= seen.keys()
