"""The names of the allowed templates."""

ALLOWED_TEMPLATES = frozenset(
    {"_base.j2", "_output_schema.j2", "planning.j2", "implement.j2", "review_strict.j2"}
)

TEMPLATES_OF_ROLES = frozenset(name for name in ALLOWED_TEMPLATES if not name.startswith("_"))
"""The templates of whole prompts; the others are parts of these."""


def check_allowed(name: str) -> None:
    """Refuse a template that is not on the list.

    Raises:
        ValueError: If it is not.
    """
    if name not in ALLOWED_TEMPLATES:
        known = ", ".join(sorted(ALLOWED_TEMPLATES))
        raise ValueError(f"The template {name!r} is not allowed; allowed are {known}.")
