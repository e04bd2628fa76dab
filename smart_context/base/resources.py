"""Finds the files shipped with the package: pages, styles, the manifest, data next to modules.

In a wheel they are in `smart_context/_assets/`; in a clone and an editable install, next to the
package at the top of the repository.
"""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def asset(name: str) -> Path:
    """The path of a shipped file or folder, such as `static` or `plugin.toml`.

    Raises:
        FileNotFoundError: If the installation lacks it.
    """
    for root in (_PACKAGE / "_assets", _PACKAGE.parent):
        path = root / name
        if path.exists():
            return path
    raise FileNotFoundError(
        f"{name} is missing from this installation of Smart Context; install it again with pip."
    )


def text_beside(module: str, name: str) -> str:
    """The text of a data file in or below the folder of a module, which gives its `__file__`."""
    return Path(module).parent.joinpath(name).read_text(encoding="utf-8")
