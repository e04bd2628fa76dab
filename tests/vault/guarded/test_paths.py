import os

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from smart_context.base.errors import PathRefused
from smart_context.vault.guarded.paths import as_typed, confine, is_inside, status_of


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param("a.md", id="a note"),
        pytest.param("sub/a b é 日本.md", id="spaces and other scripts"),
        pytest.param("not/there.md", id="what does not exist yet"),
        pytest.param("a..b.md", id="dots inside a name"),
        pytest.param("", id="the vault itself"),
        pytest.param("controller.md", id="a name that only begins like a device"),
    ],
)
def test_a_path_in_the_vault_is_given(tmp_path, request_):
    assert confine(tmp_path, request_) == tmp_path / request_


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param("/etc/passwd", id="absolute"),
        pytest.param("\\\\server\\share", id="a network share"),
        pytest.param("C:\\x", id="a drive"),
        pytest.param("../a.md", id="climbing"),
        pytest.param("sub/../a.md", id="climbing inside"),
        pytest.param("sub\\..\\..\\a.md", id="climbing with backslashes"),
        pytest.param("a\0.md", id="a NUL"),
        pytest.param("CON", id="a device"),
        pytest.param("sub/nul.txt", id="a device with a suffix"),
        pytest.param("out/secret.md", id="a linked folder that leaves"),
        pytest.param("out.md", id="a linked file that leaves"),
        pytest.param("\ud800.md", id="a name that can't be encoded"),
    ],
)
def test_a_path_that_could_leave_the_vault_is_refused(tmp_path, request_):
    vault, outside = tmp_path / "vault", tmp_path / "outside"
    vault.mkdir()
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    (vault / "out").symlink_to(outside)
    (vault / "out.md").symlink_to(outside / "secret.md")
    with pytest.raises(PathRefused):
        confine(vault, request_)
    with pytest.raises(PathRefused):
        status_of(vault, request_)


def test_a_folder_whose_name_begins_like_the_vaults_is_outside(tmp_path):
    assert not is_inside(tmp_path / "vault", tmp_path / "vault-2" / "a.md")


def test_a_link_within_the_vault_is_followed(tmp_path):
    (tmp_path / "a.md").write_text("a")
    (tmp_path / "link.md").symlink_to("a.md")
    assert confine(tmp_path, "link.md").read_text() == "a"


def test_the_message_names_a_long_request_in_short(tmp_path):
    with pytest.raises(PathRefused) as caught:
        confine(tmp_path, "../" + "x" * 10_000)
    assert len(str(caught.value)) < 400


@given(st.text(st.sampled_from("ab./\\\0C:~ é\ud800"), max_size=30))
@example("\ud800/.. /a.")
@example("\ud800/:.")
def test_no_request_leaves_the_vault(tmp_path_factory, request_):
    vault = tmp_path_factory.getbasetemp() / "vault"
    vault.mkdir(exist_ok=True)
    try:
        path = confine(vault, request_)
    except PathRefused:
        return
    assert os.path.realpath(path).startswith(os.path.realpath(vault))


def test_a_status_is_that_of_the_file(tmp_path):
    (tmp_path / "a.md").write_text("abc")
    (tmp_path / "link.md").symlink_to("a.md")
    assert status_of(tmp_path, "a.md") == (tmp_path / "a.md").stat()
    assert status_of(tmp_path, "link.md").st_size == 3
    assert os.path.samestat(status_of(tmp_path, ""), tmp_path.stat())
    with pytest.raises(FileNotFoundError):
        status_of(tmp_path, "none.md")


@pytest.mark.parametrize(
    "request_", ["secret./x.md", "secret /x.md", "a/x.md.", "a/x.md . ", "b.."]
)
def test_a_part_that_ends_in_a_dot_or_a_space_is_refused_unless_a_folder_lists_it(
    tmp_path, request_
):
    with pytest.raises(PathRefused, match="ends in a dot or a space"):
        confine(tmp_path, request_)
    with pytest.raises(PathRefused, match="ends in a dot or a space"):
        status_of(tmp_path, request_)
    (tmp_path / request_).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / request_).write_text("")
    assert confine(tmp_path, request_) == tmp_path / request_


def test_what_a_person_types_may_use_the_separator_of_the_system():
    assert as_typed(r"sub\deep.md", "\\") == "sub/deep.md" == as_typed("sub/deep.md", "\\")
    assert as_typed(r"a\b.md", "/") == r"a\b.md"
