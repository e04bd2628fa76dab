"""What hatchling asks for when it builds: the README as an index of packages shows it.

An index has the text alone, so what refers to a file of the repository needs its whole address.
Where `repository` in pyproject.toml is empty, words are left in place of a link that leads nowhere.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_REFERENCE = re.compile(r"(!?)\[([^\[\]]*)\]\((?![a-z]+:|#)([^()\s]+)\)")


class ShownByAnIndex(MetadataHookInterface):
    """Adds the README and the addresses of the project to what is known of the package."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add both to the metadata."""
        repository = self.config["repository"].rstrip("/")
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": with_whole_addresses(text, repository),
        }
        metadata["urls"] = (
            {"Source": repository, "Changelog": f"{repository}/blob/main/CHANGELOG.md"}
            if repository
            else {}
        )


def with_whole_addresses(readme: str, repository: str) -> str:
    """The text with references to the files of that repository, or, without one, with none."""

    def whole(reference: re.Match[str]) -> str:
        mark, words, path = reference.groups()
        if not repository:
            return f"*{words}*" if mark else words
        return f"{mark}[{words}]({repository}/{'raw' if mark else 'blob'}/main/{path})"

    return _REFERENCE.sub(whole, readme)
