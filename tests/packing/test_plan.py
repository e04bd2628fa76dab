import hashlib

from smart_context.packing.budget import Meter
from smart_context.packing.files.sources import SourceFile
from smart_context.packing.plan import PackPlan, SectionOutcome


def outcome(key: str, *files: SourceFile, is_kept: bool = True) -> SectionOutcome:
    return SectionOutcome(
        key=key,
        heading=key.title(),
        tokens=1,
        is_kept=is_kept,
        is_protected=False,
        reason="" if is_kept else "over the token budget",
        files=files,
    )


PLAN = PackPlan(
    sections=(
        outcome(
            "files",
            SourceFile(path="b/c/d.py", size=8, text="x" * 8),
            SourceFile(path="b/e.py", size=1, text="x"),
            SourceFile(path="key.py", size=9, reason="with a secret", detail="holds a key"),
        ),
        outcome("tree", SourceFile(path="a.py", size=4, text="xxxx"), is_kept=False),
    ),
    warnings=(),
    token_budget=2,
    pieces=("12345", "6789"),
    meter=Meter(),
)


def test_tokens_and_budget_are_of_the_whole_prompt():
    assert PLAN.render() == "123456789"
    assert PLAN.tokens == 3
    assert PLAN.is_over_budget


def test_the_digest_is_of_the_rendered_prompt():
    assert PLAN.digest() == hashlib.sha256(b"123456789").hexdigest()


def test_sources_are_the_files_whose_text_is_in_the_prompt():
    assert PLAN.sources() == {
        "b/c/d.py": hashlib.sha256(b"x" * 8).hexdigest(),
        "b/e.py": hashlib.sha256(b"x").hexdigest(),
    }


def test_every_file_is_told_with_its_reason():
    assert [(file.path, file.tokens, file.is_kept, file.reason) for file in PLAN.files()] == [
        ("b/c/d.py", 2, True, ""),
        ("b/e.py", 1, True, ""),
        ("key.py", 0, False, "holds a key"),
        ("a.py", 1, False, "its section was dropped"),
    ]


def test_a_folder_has_the_tokens_of_what_is_below_it():
    assert PLAN.token_tree() == [
        ("./", 3),
        ("b/", 3),
        ("b/c/", 2),
        ("b/c/d.py", 2),
        ("b/e.py", 1),
    ]
