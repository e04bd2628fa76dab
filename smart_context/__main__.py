"""Starts the command line; `--version` answers without loading anything else."""

import sys

from smart_context import __version__


def main() -> None:
    """Run `smart-context`; ends with exit code 0, 1 (failed) or 2 (bad usage or config)."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        sys.stdout.write(f"smart-context {__version__}\n")
        return
    from smart_context.cli.root import smart_context  # noqa: PLC0415 - keeps --version fast

    smart_context(prog_name="smart-context")


if __name__ == "__main__":
    main()
