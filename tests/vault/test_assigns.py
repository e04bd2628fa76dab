import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.vault.assigns import (
    build_context_assign_string,
    build_here_doc_token,
    build_safe_base_name,
)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("src/auth.py", "spec_auth", id="the base name, without the suffix"),
        pytest.param("a.tar.gz", "spec_a_tar", id="only the last suffix goes"),
        pytest.param(".gitignore", "spec_gitignore", id="a leading dot is no suffix"),
        pytest.param("src/.env", "spec_env", id="nor is it in a folder"),
        pytest.param("v1.2/notes", "spec_notes", id="a folder's dot is no suffix"),
        pytest.param("a/b/", "spec_b", id="a closing slash"),
        pytest.param("src/_X_MAX_X", "spec_X_MAX_X", id="capitals stay"),
        pytest.param("a__b.md", "spec_a_b", id="underscores are runs too"),
        pytest.param("my  -- notes.md", "spec_my_notes", id="runs become one underscore"),
        pytest.param("__init__.py", "spec_init", id="outer underscores go"),
        pytest.param("日本.md", "spec_file", id="nothing left"),
        pytest.param("", "spec_file", id="nothing given"),
        pytest.param("2024.md", "spec_F_2024", id="a digit first"),
    ],
)
def test_a_path_becomes_an_identifier(path, expected):
    assert build_safe_base_name(path) == expected


def test_the_prefix_can_be_chosen():
    assert build_safe_base_name("1.md", prefix="") == "F_1"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param("", "context", id="free"),
        pytest.param("--begin-context--", "context-1", id="the beginning is taken"),
        pytest.param("-- END-context --", "context-1", id="in other letters, with blanks"),
        pytest.param("\u2014end-context\u2014", "context-1", id="with long dashes"),
        pytest.param("--e\u200bnd-context--", "context-1", id="with what nobody sees"),
        pytest.param("--end-context--\n--begin-context-1--", "context-2", id="the first too"),
        pytest.param("--end-context--end-context-1--", "context-2", id="marks that overlap"),
        pytest.param("--end-context-- --end-context-01--", "context-1", id="another number"),
        pytest.param("--end-context-1--", "context", id="only a numbered one is taken"),
    ],
)
def test_a_token_is_free(content, expected):
    assert build_here_doc_token(content) == expected


@given(
    st.lists(
        st.sampled_from(["--begin-", "--end-", "a", "a+", "-1", "-2", "--", "-", "x\n"]),
        max_size=30,
    ).map("".join),
    st.sampled_from(["a", "a+", ""]),
)
def test_no_token_is_in_the_content(content, base):
    token = build_here_doc_token(content, base)
    assert f"--begin-{token}--" not in content
    assert f"--end-{token}--" not in content


def test_each_file_is_two_assigns():
    text = build_context_assign_string(
        {"/v/src/a.md": "hello\n", "/v/b.md": ""}, cwd="/v", new_id=lambda: "1f"
    )
    assert text.split("\n") == [
        '@spec_a assign "src/a.md"',
        "@spec_aContent assign",
        "--begin-context-1f--",
        "hello",
        "",
        "--end-context-1f--",
        '@spec_b assign "b.md"',
        "@spec_bContent assign",
        "--begin-context-1f--",
        "--end-context-1f--",
    ]


def test_nothing_read_is_nothing():
    assert build_context_assign_string({}) == ""


def test_each_file_gets_an_unforeseeable_token():
    text = build_context_assign_string({"/v/a.md": "x", "/v/b.md": "x"}, cwd="/v")
    tokens = [line for line in text.split("\n") if line.startswith("--begin-")]
    assert len(set(tokens)) == 2


def test_paths_are_relative_to_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = build_context_assign_string({str(tmp_path.parent / "a.md"): "x"})
    assert text.startswith('@spec_a assign "../a.md"')


def test_a_path_that_is_nowhere_stays_as_it_is():
    assert build_context_assign_string({"": "x"}).startswith('@spec_file assign ""')


def test_a_hostile_name_stays_in_its_quotes():
    text = build_context_assign_string({'/v/a"\n\\.md': "x"}, cwd="/v")
    assert text.split("\n")[0] == r'@spec_a assign "a\"\n\\.md"'


def _assigned(text):
    return [line.split()[0] for line in text.split("\n") if line.startswith("@")]


def test_names_that_would_be_the_same_are_told_apart():
    read = dict.fromkeys(["/v/a.md", "/v/a.txt", "/v/a_2.md", "/v/aContent.md", "/v/a.py"], "")
    names = _assigned(build_context_assign_string(read, cwd="/v"))
    assert names[0] == "@spec_a"
    assert names[4] == "@spec_a_2"
    assert len(set(names)) == len(names) == 10


def test_files_of_one_name_in_two_folders_are_told_apart():
    text = build_context_assign_string(dict.fromkeys(["/v/x/a.md", "/v/y/a.md"], ""), cwd="/v")
    assert _assigned(text)[::2] == ["@spec_a", "@spec_a_2"]
    assert '@spec_a_2 assign "y/a.md"' in text


@given(
    st.lists(
        st.text(st.sampled_from("ab_2Content.-"), min_size=1, max_size=6), unique=True, max_size=12
    )
)
def test_no_two_assigns_share_a_name(names):
    read = {f"/v/{name}": "" for name in names if name not in {".", ".."}}
    assigned = _assigned(build_context_assign_string(read, cwd="/v"))
    assert len(set(assigned)) == len(assigned) == 2 * len(read)
