"""Declares the modules that a child imports before a job, since it can't during the job."""

from collections.abc import Callable
from typing import TypeVar

Work = TypeVar("Work", bound=Callable[..., object])


def needs(*modules: str) -> Callable[[Work], Work]:
    """Declare the modules that a function imports in a child, besides its own module.

    Args:
        modules: Their names; `package.*` keeps all modules of a package at hand. Modules that
            are not installed are left out.
    """

    def declared(work: Work) -> Work:
        work.__dict__["needed_modules"] = modules
        return work

    return declared


def needed_by(work: Callable[..., object]) -> tuple[str, ...]:
    """The modules that a child has to import before it calls this function."""
    return (work.__module__, *getattr(work, "needed_modules", ()))
