import pytest

from smart_context.base.errors import ConfigInvalid
from smart_context.packing import RoleContext, RoleLoader
from smart_context.packing.roles import RoleFolder


@pytest.fixture
def write(tmp_path):
    (tmp_path / "roles").mkdir()

    def write_role(name: str, text: str) -> None:
        (tmp_path / "roles" / f"{name}.toml").write_text(text, encoding="utf-8")

    return write_role


@pytest.mark.parametrize("name", ["planner", "implementer", "reviewer"])
def test_the_shipped_roles_load_anywhere(tmp_path, name):
    role = RoleLoader(tmp_path).load_role(name)
    assert role.name == name
    assert role.system_prompt.strip()
    assert role.token_budget > 1000


def test_a_role_of_ones_own_has_the_fields_of_its_file(tmp_path, write):
    write("mine", 'description = "d"\ntoken_budget = 5\n[context]\ninclude = ["*.py"]\ntree = true')
    role = RoleLoader(tmp_path).load_role("mine")
    assert (role.name, role.description, role.token_budget) == ("mine", "d", 5)
    assert role.context == RoleContext(include=("*.py",), tree=True)
    assert "mine" in RoleLoader(tmp_path).names()


def test_lists_append_tables_merge_and_the_rest_overrides(tmp_path, write):
    write("a", 'system_prompt = "a"\ntoken_budget = 1\n[context]\ninclude = ["1"]\ngit_diff = true')
    write("b", 'extends = "a"\ntoken_budget = 2\n[context]\ninclude = ["2"]\nexclude = ["3"]')
    role = RoleLoader(tmp_path).load_role("b")
    assert (role.name, role.system_prompt, role.token_budget) == ("b", "a", 2)
    assert role.context == RoleContext(include=("1", "2"), exclude=("3",), git_diff=True)


def test_a_role_may_extend_the_shipped_one_of_its_own_name(tmp_path, write):
    write("reviewer", 'extends = "reviewer"\ntoken_budget = 7')
    role = RoleLoader(tmp_path).load_role("reviewer")
    assert role.token_budget == 7
    assert role.context.git_diff


@pytest.mark.parametrize("files", [{"a": "b", "b": "a"}, {"a": "b", "b": "c", "c": "b"}])
def test_a_circle_is_an_error(tmp_path, write, files):
    for name, parent in files.items():
        write(name, f'extends = "{parent}"')
    with pytest.raises(ConfigInvalid, match="extend each other: a → b"):
        RoleLoader(tmp_path).load_role("a")


def test_all_faults_are_listed_with_their_lines(tmp_path, write):
    write("a", 'tokn_budget = 1\ntoken_budget = "x"\n[context]\ninclude = "*.py"\ntree = 1')
    with pytest.raises(ConfigInvalid) as caught:
        RoleLoader(tmp_path).load_role("a")
    found = [(fault.key, fault.line) for fault in caught.value.faults]
    assert found == [
        ("tokn_budget", 1),
        ("token_budget", 2),
        ("context.include", 4),
        ("context.tree", 5),
    ]
    assert "did you mean 'token_budget'?" in str(caught.value)


@pytest.mark.parametrize("text", ["= x", "token_budget = true", "token_budget = -1", "context = 1"])
def test_a_faulty_file_is_named(tmp_path, write, text):
    write("a", text)
    with pytest.raises(ConfigInvalid, match=r"a\.toml"):
        RoleLoader(tmp_path).load_role("a")


@pytest.mark.parametrize("name", ["../secret", "", "a/b", "a.b", "-x", "con", "Lpt1"])
def test_a_name_that_is_no_name_is_refused(tmp_path, name):
    with pytest.raises(ConfigInvalid, match="not a valid name of a role"):
        RoleLoader(tmp_path).load_role(name)


def test_an_unknown_role_is_an_error_that_names_the_known_ones(tmp_path):
    with pytest.raises(ConfigInvalid, match="implementer, planner, reviewer"):
        RoleLoader(tmp_path).load_role("painter")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param('extends = "nix"', r"a\.toml.*\n.*extends: there is no role 'nix'", id="none"),
        pytest.param('extends = "a"', r"a\.toml.*\n.*no shipped role 'a' to extend", id="itself"),
        pytest.param('template = "_base.j2"', "template: expected one of implement", id="template"),
    ],
)
def test_the_role_that_is_wrong_is_named_not_the_one_that_is_missing(tmp_path, text, told):
    (tmp_path / "roles").mkdir()
    (tmp_path / "roles/a.toml").write_text(text)
    with pytest.raises(ConfigInvalid, match=told):
        RoleLoader(tmp_path).load_role("a")


def test_a_folder_is_no_role(tmp_path):
    (tmp_path / "roles/odd.toml").mkdir(parents=True)
    assert "odd" not in RoleLoader(tmp_path).names()
    assert not RoleLoader(tmp_path).is_own("odd")


ALLOWING = "[context]\nallow_secrets = true\ninclude = ['.env']"
REFUSAL = "Role 'r' can't allow secrets: it is this folder's role, not yours."


@pytest.mark.parametrize(
    ("theirs", "mine", "allows"),
    [
        pytest.param({"r": ALLOWING}, {}, False, id="the folder's own"),
        pytest.param({}, {"r": ALLOWING}, True, id="the user's own"),
        pytest.param({"r": ALLOWING}, {"r": ALLOWING}, False, id="the folder's comes first"),
        pytest.param({"r": "extends = 'm'"}, {"m": ALLOWING}, False, id="it extends the user's"),
        pytest.param({"r": "extends = 'r'"}, {"r": ALLOWING}, False, id="of the same name"),
        pytest.param({"t": ALLOWING}, {"r": "extends = 't'"}, False, id="the user's extends it"),
        pytest.param(
            {"t": "token_budget = 1"},
            {"r": f"extends = 't'\n{ALLOWING}"},
            False,
            id="what the user's role includes is not only the user's choice",
        ),
        pytest.param(
            {}, {"r": "extends = 'm'", "m": ALLOWING}, True, id="the user's extends the user's"
        ),
        pytest.param(
            {}, {"r": f"extends = 'reviewer'\n{ALLOWING}"}, True, id="the user's extends a shipped"
        ),
    ],
)
def test_only_a_role_that_is_all_the_users_own_allows_secrets(tmp_path, theirs, mine, allows):
    for owner, roles in (("theirs", theirs), ("mine", mine)):
        (tmp_path / owner).mkdir()
        for name, text in roles.items():
            (tmp_path / owner / f"{name}.toml").write_text(text)
    folders = [
        RoleFolder(path=tmp_path / "theirs", source="vault"),
        RoleFolder(path=tmp_path / "mine", source="user"),
    ]
    told: list[str] = []
    role = RoleLoader(folders=folders, warn=told.append).load_role("r")
    assert role.context.allow_secrets is allows
    assert told == ([] if allows else [REFUSAL])


def test_what_does_not_count_is_logged_where_nobody_asks_for_it(tmp_path, write, caplog):
    write("r", ALLOWING)
    assert not RoleLoader(tmp_path).load_role("r").context.allow_secrets
    assert REFUSAL in caplog.text
    caplog.clear()
    write("r", "[context]\nallow_secrets = false")
    RoleLoader(tmp_path).load_role("r")
    assert not caplog.text


@pytest.mark.parametrize(
    "hostile", ["a" + ".a" * 20_000 + " = 1", "a = " + "[" * 5_000, "a = 1" + "0" * 5_000]
)
def test_a_hostile_role_file_is_refused_at_once(tmp_path, hostile):
    role = tmp_path / "roles" / "a.toml"
    role.parent.mkdir()
    role.write_text(hostile)
    with pytest.raises(ConfigInvalid, match="larger than any role needs"):
        RoleLoader(tmp_path).load_role("a")
