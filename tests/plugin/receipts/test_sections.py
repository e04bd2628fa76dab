"""Why the sections of a receipt were sent or not, in words."""

from dataclasses import replace

import pytest

from smart_context.packing import RoleConfig
from smart_context.plugin.briefing.briefing import Briefing, ContextsToSend
from smart_context.plugin.briefing.chat_roles import RolePart, RoleSection
from smart_context.plugin.notes.context_prompt import ContextShare, ContextsPrompt
from smart_context.plugin.receipts.making import MAX_PATHS, sections_of


def with_context(share, problem=""):
    problems = ((share.key, problem),) if problem else ()
    return Briefing(contexts=ContextsToSend(ContextsPrompt("", (share,)), problems))


@pytest.mark.parametrize(
    ("share", "problem", "is_in", "why"),
    [
        pytest.param({"sent": ("a.md",)}, "", True, "attached", id="all of it"),
        pytest.param(
            {"sent": ("a.md",), "left_out": ("b.md",)},
            "",
            True,
            "attached; not all of it fits",
            id="not all notes fit",
        ),
        pytest.param(
            {"sent": ("a.md",), "cut": ("a.md",)},
            "",
            True,
            "attached; not all of it fits",
            id="a note is cut",
        ),
        pytest.param({"left_out": ("b.md",)}, "", False, "over budget", id="nothing fits"),
        pytest.param({}, "", False, "it is empty", id="nothing in it"),
        pytest.param(
            {}, "This context was deleted.", False, "This context was deleted.", id="gone"
        ),
    ],
)
def test_a_context_says_why(share, problem, is_in, why):
    briefing = with_context(ContextShare(key="trip", **share), problem)
    (section,) = sections_of(briefing, 0)
    assert (section.name, section.is_in, section.why) == ("trip", is_in, why)


ROLE = RolePart(
    name="reviewer",
    tokens=9,
    config=RoleConfig(name="reviewer", template="review.j2"),
    sections=(
        RoleSection(heading="Files", tokens=9, why_not="", sent=("a.py",), left_out=("b.py",)),
        RoleSection(heading="Tree", tokens=5, why_not="over budget", sent=(), left_out=()),
    ),
)


@pytest.mark.parametrize(
    ("briefing", "why"),
    [
        pytest.param(
            Briefing(role=ROLE),
            "chosen for this chat; your message is put into words by review.j2; "
            "without Tree, over budget",
            id="with its template",
        ),
        pytest.param(
            Briefing(role=ROLE, problem="the template failed"),
            "chosen for this chat; without Tree, over budget",
            id="the template failed",
        ),
        pytest.param(
            Briefing(role=RolePart(name="reviewer", problems=("one", "two"))),
            "one\ntwo",
            id="the role can't be used",
        ),
    ],
)
def test_a_role_says_why(briefing, why):
    (section,) = sections_of(briefing, 0)
    assert (section.name, section.why) == ("Role reviewer", why)
    assert section.is_in == (briefing.role.config is not None)


def test_a_role_of_many_files_names_the_first_and_how_many_more():
    many = tuple(f"{n}.py" for n in range(MAX_PATHS + 2))
    role = replace(ROLE, sections=(replace(ROLE.sections[0], sent=many),))
    (section,) = sections_of(Briefing(role=role), 0)
    assert section.sent == (*many[:MAX_PATHS], "and 2 more")


def test_sections_come_in_the_order_in_which_they_are_sent():
    briefing = replace(with_context(ContextShare(key="trip", sent=("a.md",))), role=ROLE)
    names = [section.name for section in sections_of(briefing, 7)]
    assert names == ["System prompt", "Role reviewer", "trip"]
    assert sections_of(Briefing(), 0) == ()
