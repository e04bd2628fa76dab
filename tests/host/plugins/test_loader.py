"""The modules of a vault's plugin are a package of their own."""

import sys

import pytest

from smart_context.host.plugins.loader import PluginModules
from smart_context.vault.trust.files import file_digest


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "one"
    folder.mkdir()
    return folder


def modules(folder):
    files = {
        path.relative_to(folder).as_posix(): file_digest(path.read_bytes())
        for path in folder.rglob("*.py")
    }
    return PluginModules(folder, files)


def test_a_module_is_loaded_again_after_it_was_unloaded(folder):
    finders = [*sys.meta_path]
    (folder / "main.py").write_text("VALUE = 1")
    first = modules(folder)
    assert first.load("main").VALUE == 1
    first.unload()
    (folder / "main.py").write_text("VALUE = 2")
    second = modules(folder)
    assert second.load("main").VALUE == 2
    second.unload()
    second.unload()
    assert sys.meta_path == finders
    assert not [name for name in sys.modules if name.startswith((first.package, second.package))]


def test_what_was_given_up_before_its_import_began_is_not_run(folder):
    finders = [*sys.meta_path]
    (folder / "main.py").write_text("VALUE = 1")
    late = modules(folder)
    late.unload()
    with pytest.raises(ImportError, match="given up"):
        late.load("main")
    assert sys.meta_path == finders
    assert not [name for name in sys.modules if name.startswith(late.package)]


def test_folders_of_one_name_have_packages_of_their_own(folder, tmp_path):
    other = tmp_path / "other" / "one"
    other.mkdir(parents=True)
    assert modules(folder).package != modules(other).package


def test_the_packages_own_code_runs_first(folder):
    (folder / "__init__.py").write_text("VALUE = 1")
    (folder / "main.py").write_text("from . import VALUE")
    loaded = modules(folder)
    assert loaded.load("main").VALUE == 1
    loaded.unload()


def test_what_is_no_trusted_file_is_not_run(folder):
    (folder / "main.py").write_text("VALUE = 1")
    untrusted = PluginModules(folder, {})
    with pytest.raises(ImportError, match="changed after the vault was trusted"):
        untrusted.load("main")
    untrusted.unload()


def test_a_sibling_that_is_not_there_can_be_asked_for(folder):
    (folder / "main.py").write_text(
        "try:\n    from . import maybe\nexcept ImportError:\n    maybe = None\n"
    )
    loaded = modules(folder)
    assert loaded.load("main").maybe is None
    loaded.unload()
