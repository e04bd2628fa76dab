import pytest

from smart_context.contexts import SmartContexts


@pytest.fixture
def vault(tmp_path):
    """Writes files into a vault; gives its contexts."""
    made = []

    def make(files, **settings):
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        made.append(SmartContexts(tmp_path, settings=settings))
        return made[-1]

    make.root = tmp_path
    yield make
    for contexts in made:
        contexts.close()
