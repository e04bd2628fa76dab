"""Finds the vault of a verb, and takes options as words like `name=value`, as Obsidian does."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from typing_extensions import override

from smart_context.base.text.names import shown

CONFIG_NAME = ".vault.toml"

Command = Callable[..., Any]

vault_argument = click.argument(
    "vault", required=False, type=click.Path(path_type=Path, file_okay=False)
)
vault_option = click.option(
    "--vault",
    type=click.Path(path_type=Path, file_okay=False),
    help="The vault's folder. Default: the one you are in.",
)


def with_options(
    options: Sequence[Callable[[Command], Command]],
) -> Callable[[Command], Command]:
    """Add arguments and options to a verb, in this order."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def vault_root(named: Path | None) -> Path:
    """The given folder, else the nearest one upwards with a `.vault.toml`, else this one.

    Raises:
        click.BadParameter: If the folder does not exist; exit code 2.
    """
    if named is not None:
        if not named.is_dir():
            raise click.BadParameter(
                f"{shown(named)} is not a folder. Name the folder that holds your notes.",
                param_hint="VAULT",
            )
        return named.resolve()
    here = Path.cwd()
    return next((p for p in (here, *here.parents) if (p / CONFIG_NAME).is_file()), here)


class WordCommand(click.Command):
    """A command whose options may be written without dashes: `file=Home counts`.

    A bare word is a flag only if it can't be an argument: once an option in `argument_options` was
    given, or every argument has its word. Words after `--` are never options.

    Args:
        argument_options: Options that replace the command's arguments.
    """

    def __init__(self, *args: Any, argument_options: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._argument_options = frozenset(f"--{name}" for name in argument_options)

    @override
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(self._as_options(args)))

    def _as_options(self, words: Sequence[str]) -> Iterator[str]:
        options = {
            name: param
            for param in self.get_params(click.Context(self))
            if isinstance(param, click.Option)
            for name in (*param.opts, *param.secondary_opts)
        }
        room = self._room(words)
        pending = iter(words)
        for word in pending:
            name, equals, value = word.partition("=")
            option = options.get(f"--{name}")
            if word == "--":
                yield word
                yield from pending
            elif word.startswith("-") and word != "-":
                yield word
                if word in options and _takes_value(options[word]):
                    yield from (value for value in (next(pending, None),) if value is not None)
            elif option is not None and equals and _takes_value(option):
                yield f"--{name}={value}"
            elif option is not None and not equals and option.is_flag and room <= 0:
                yield f"--{name}"
            else:
                room -= 1
                yield word

    def _room(self, words: Sequence[str]) -> float:
        """The number of bare words that the arguments take."""
        given = {f"--{word.lstrip('-').partition('=')[0]}" for word in words if "=" in word}
        if self._argument_options & (given | set(words)):
            return 0
        wanted = [p.nargs for p in self.params if isinstance(p, click.Argument)]
        return float("inf") if -1 in wanted else sum(wanted)


def _takes_value(option: click.Option) -> bool:
    return not option.is_flag and not option.count
