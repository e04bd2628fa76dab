import pytest

from smart_context.packing.sections.imports import local_imports, related_files

FILES = dict.fromkeys(
    [
        "app/__init__.py",
        "app/auth.py",
        "app/db/__init__.py",
        "app/db/models.py",
        "src/lib/tool.py",
        "top.py",
        "web/a.ts",
        "web/b.tsx",
        "web/parts/index.ts",
        "web/old.js",
        "tests/test_auth.py",
        "web/a.test.ts",
        "tests/AuthTest.py",
    ]
)


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        pytest.param("app/auth.py", "import os, top", "top.py", id="a module at the top"),
        pytest.param("app/auth.py", "import app.db.models", "app/db/models.py", id="by full name"),
        pytest.param("app/auth.py", "from app.db import models", "app/db/models.py", id="from"),
        pytest.param(
            "app/auth.py", "from app.db import x", "app/db/__init__.py", id="a name in it"
        ),
        pytest.param("app/auth.py", "from . import db", "app/db/__init__.py", id="a sibling"),
        pytest.param("app/auth.py", "from .db.models import X", "app/db/models.py", id="below"),
        pytest.param("app/db/models.py", "from ..auth import x", "app/auth.py", id="above"),
        pytest.param("app/db/models.py", "from .... import x", "", id="above the repository"),
        pytest.param("top.py", "import lib.tool", "src/lib/tool.py", id="in src"),
        pytest.param("app/auth.py", "import models", "", id="not found"),
        pytest.param("app/auth.py", "from .auth import x", "", id="itself"),
        pytest.param("app/auth.py", "def broken(:", "", id="does not parse"),
        pytest.param("app/auth.py", "x = '\0'", "", id="holds a NUL"),
        pytest.param("web/a.ts", "import x from './b'", "web/b.tsx", id="TypeScript"),
        pytest.param("web/a.ts", "export * from './parts'", "web/parts/index.ts", id="a folder"),
        pytest.param("web/b.tsx", "import y from './a.js'", "web/a.ts", id="named as compiled"),
        pytest.param("web/a.ts", "const o = require('./old')", "web/old.js", id="require"),
        pytest.param("web/parts/index.ts", "await import('../a')", "web/a.ts", id="while running"),
        pytest.param("web/a.ts", "import '../../../etc/passwd'", "", id="outside"),
        pytest.param("web/a.ts", "import react from 'react'", "", id="somebody else's"),
        pytest.param("notes.md", "import top", "", id="another language"),
    ],
)
def test_local_imports_resolve_to_files(path, text, found):
    assert " ".join(local_imports(path, text, FILES)) == found


def test_related_are_importers_and_tests_by_name():
    texts = {"top.py": "import app.auth", "app/db/models.py": "auth = 1"}
    assert related_files(["app/auth.py"], FILES, texts.get) == [
        "tests/test_auth.py",
        "top.py",
    ]
    assert related_files(["web/a.ts"], FILES, {"web/b.tsx": "import './a'"}.get) == [
        "web/a.test.ts",
        "web/b.tsx",
    ]
