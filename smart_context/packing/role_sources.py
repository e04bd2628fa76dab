"""The roles and templates that a chat can use.

The vault's trusted ones come first, then the user's own, then the shipped ones. Those that are
off are reported, so that a chat that uses one can show it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from smart_context.base.disk.places import Place
from smart_context.packing.roles import RoleConfig, RoleFolder, RoleLoader
from smart_context.packing.sections.sections import STAGED_DIFF, UNSTAGED_DIFF, GitUse
from smart_context.packing.templates.templates import OwnTemplates, own_of, read_own
from smart_context.vault.trust.files import ROLES_FOLDER, TEMPLATES_FOLDER
from smart_context.vault.trust.vault import OwnRoles, VaultTrust, is_repository

GIT_IS_OFF = "Git is off until you trust this vault, so changes are not sent."

_ASKS_GIT = frozenset({STAGED_DIFF, UNSTAGED_DIFF, "$CHANGED_FILES"})
_PREFIX = f"{TEMPLATES_FOLDER}/"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsableRole:
    """A role without the parts that are off."""

    config: RoleConfig | None  # the role; `None` when it is off
    # own versions of the allowed templates
    templates: OwnTemplates = field(default_factory=OwnTemplates)
    git: GitUse = "never"  # the allowed use of git
    problems: tuple[str, ...] = ()  # the parts that are off, for users


class RoleSources:
    """Finds the roles of one vault's chats; blocking, so used in threads."""

    def __init__(
        self, trust: VaultTrust, user_roles: Callable[[], Path | None] = lambda: None
    ) -> None:
        self._trust = trust
        self._user_roles = user_roles

    def loader(self) -> RoleLoader:
        """The loader of the roles that can be used."""
        return self._loader(self._trust.roles())

    def role(self, name: str) -> UsableRole:
        """A role without the parts that are off, and the problems that follow.

        Raises:
            ConfigInvalid: If there is none of that name, or it has faults.
        """
        own = self._trust.roles()
        problems: list[str] = []
        loader = self._loader(own, warn=problems.append)
        if own.are_off and f"{name}.toml" in own.names:
            has_other = loader.source(name) is not None
            instead = " Another role of that name is used." if has_other else ""
            problems.append(f"This vault's role {name!r} is off until you trust it.{instead}")
            if not has_other:
                return UsableRole(config=None, problems=tuple(problems))
        role = loader.load_role(name)
        if own.are_off and _PREFIX + role.template in own.names:
            problems.append(f"This vault's {role.template} is off until you trust it.")
        git: GitUse = "guarded"
        if asks_git(role) and not self._trust.allows_git():
            role, git = without_git(role), "never"
            problems += [GIT_IS_OFF] if is_repository(self._trust.root) else []
        return UsableRole(
            config=role, templates=self._templates(own), git=git, problems=tuple(problems)
        )

    def is_off(self, name: str) -> bool:
        """True if a role of the vault is off and no other role of its name replaces it."""
        own = self._trust.roles()
        is_named = own.are_off and f"{name}.toml" in own.names
        return is_named and self._loader(own).source(name) is None

    def _loader(self, own: OwnRoles, warn: Callable[[str], None] = lambda _: None) -> RoleLoader:
        vault = self._trust.root / ROLES_FOLDER
        folders = [RoleFolder(path=vault, source="vault", contents=own.contents)]
        if user_roles := self._user_roles():
            folders.append(RoleFolder(path=user_roles, source="user"))
        return RoleLoader(folders=folders, warn=warn)

    def _templates(self, own: OwnRoles) -> OwnTemplates:
        contents = {name.removeprefix(_PREFIX): content for name, content in own.contents.items()}
        vaults = own_of(contents, Place(self._trust.root) / f"{ROLES_FOLDER}/{TEMPLATES_FOLDER}")
        user_roles = self._user_roles()
        if user_roles is None:
            return vaults
        return vaults.before(read_own(Place((user_roles / TEMPLATES_FOLDER).resolve())))


def asks_git(role: RoleConfig) -> bool:
    """True if a role uses git."""
    context = role.context
    return context.git_diff or not _ASKS_GIT.isdisjoint((*context.include, *context.always_include))


def without_git(role: RoleConfig) -> RoleConfig:
    """The role without the parts that need git."""
    context = role.context
    return replace(
        role,
        context=replace(
            context,
            git_diff=False,
            include=tuple(name for name in context.include if name not in _ASKS_GIT),
            always_include=tuple(name for name in context.always_include if name not in _ASKS_GIT),
        ),
    )
