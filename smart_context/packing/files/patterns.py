"""Globs that select files, with the meaning that they have in a `.gitignore`."""

from dataclasses import dataclass, field

from smart_context.vault.guarded.ignore import IgnoreRules, parse_ignore

_WILDCARDS = frozenset("*?[")


def is_glob(pattern: str) -> bool:
    """True if a pattern has wildcards; one without is an exact path."""
    return not _WILDCARDS.isdisjoint(pattern)


def is_hidden(path: str) -> bool:
    """True if a part of the path begins with a dot."""
    return path.startswith(".") or "/." in path


@dataclass(slots=True)
class PatternSet:
    """Globs; the last one that matches a path or one of its folders decides.

    Names that begin with a dot are matched only by patterns that contain the dot, as in a shell.
    """

    patterns: tuple[str, ...]
    _all: IgnoreRules | None = field(init=False)
    _dotted: IgnoreRules | None = field(init=False)
    _folders: dict[tuple[str, bool], bool] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        lines = [_line(pattern) for pattern in self.patterns]
        self._all = parse_ignore("\n".join(lines))
        self._dotted = parse_ignore("\n".join(line for line in lines if _spells_a_dot(line)))

    @property
    def wants_hidden(self) -> bool:
        """True if a pattern contains a leading dot."""
        return self._dotted is not None

    def picks(self, path: str) -> bool:
        """True if the path is selected."""
        return self._matches(path, is_dotted=is_hidden(path))

    def excludes(self, path: str) -> bool:
        """True if the path is excluded; here a wildcard matches a leading dot as well."""
        return self._matches(path, is_dotted=False)

    def _matches(self, path: str, *, is_dotted: bool) -> bool:
        rules = self._dotted if is_dotted else self._all
        if rules is None:
            return False
        verdict = rules.verdict(path)
        if verdict is not None:
            return verdict
        return self._matches_folder(path.rpartition("/")[0], rules, is_dotted)

    def _matches_folder(self, folder: str, rules: IgnoreRules, is_dotted: bool) -> bool:
        if not folder:
            return False
        known = self._folders.get((folder, is_dotted))
        if known is None:
            verdict = rules.verdict(folder + "/")
            known = (
                self._matches_folder(folder.rpartition("/")[0], rules, is_dotted)
                if verdict is None
                else verdict
            )
            self._folders[folder, is_dotted] = known
        return known


def _line(pattern: str) -> str:
    return f"\\{pattern}" if pattern.startswith("#") else pattern.removeprefix("./")


def _spells_a_dot(pattern: str) -> bool:
    return is_hidden(pattern.lstrip("!"))
