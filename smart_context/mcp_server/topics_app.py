"""The bubbles within a client of MCP (an MCP App): one page without a network."""

import re
from functools import cache

from smart_context.base.resources import asset

EXTENSION = "io.modelcontextprotocol/ui"
"""What servers say that offer such pages."""

URI = "ui://smart-context/topics.html"
MIME_TYPE = "text/html;profile=mcp-app"

_FOLDER = "static/agents"
_IMPORT = re.compile(r'^import \{ ([^}\n]+) \} from "([^"\n]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)


@cache
def topics_page() -> str:
    """The page, with the scripts that it needs."""
    folder = asset(_FOLDER)
    page = (folder / "topics-app.html").read_text(encoding="utf-8")
    script = (folder / "topics-app.js").read_text(encoding="utf-8")

    def joined(found: re.Match[str]) -> str:
        """The module that is imported, in a scope of its own."""
        source = (folder / found[2]).read_text(encoding="utf-8")
        return (
            f"const {{ {found[1]} }} = (() => {{\n{_EXPORT.sub('', source)}\n"
            f"return {{ {found[1]} }};\n}})();"
        )

    return page.replace("/* scripts */", _IMPORT.sub(joined, script))
