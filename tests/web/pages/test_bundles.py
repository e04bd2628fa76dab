import shutil
import subprocess

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from smart_context.base.resources import asset
from smart_context.web.pages.templates import Bundles, joined_script

ENTRIES = [f"pages/{path.name}" for path in sorted(asset("static").glob("pages/*-page.js"))]


def write(folder, **modules):
    for name, text in modules.items():
        path = folder / f"{name.replace('__', '/')}.js"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def run(script):
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    command = [node, "--input-type=module"]
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_modules_keep_their_own_names_and_run_once_in_order(tmp_path):
    write(
        tmp_path,
        main='import { say as tell } from "./lib/say.js";\n'
        'import "./loud.js";\nimport { other } from "./lib/other.js";\n'
        "const own = 1;\ntell(own, other());\n",
        loud='import { say } from "./lib/say.js";\nsay("loud");\n',
        lib__say="const own = [];\nexport function say(...words) {\n"
        "  own.push(...words);\n  console.log(own.join());\n}\n",
        lib__other='import {\n  say,\n} from "./say.js";\nexport const other = () => typeof say;\n',
    )

    assert run(joined_script(tmp_path, "main.js")) == "loud\nloud,1,function"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param('import { a } from "./main.js";\n', "circle", id="a circle"),
        pytest.param("export default 1;\n", "found 'export default 1;'", id="unknown words"),
    ],
)
def test_what_can_not_be_joined_is_refused(tmp_path, text, problem):
    write(tmp_path, main=text)

    with pytest.raises(ValueError, match=problem):
        joined_script(tmp_path, "main.js")


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_page_can_be_joined(entry):
    script = joined_script(asset("static"), entry)

    assert "\nimport " not in script
    assert "\nexport " not in script


@pytest.mark.anyio
async def test_a_changed_file_is_joined_again_and_an_unchanged_one_not_sent_again(tmp_path):
    write(tmp_path, main="let a;\n")
    bundles = Bundles(tmp_path, sheets=(), scripts=["main.js"])
    app = Starlette(routes=[Route("/{name}", bundles.answer)])
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        first = await client.get("/main.js")
        again = await client.get("/main.js", headers={"If-None-Match": first.headers["etag"]})
        write(tmp_path, other="", main="let b;\n")
        changed = await client.get("/main.js", headers={"If-None-Match": first.headers["etag"]})
        missing = await client.get("/other.js")

    assert "let a;" in first.text
    assert first.headers["content-type"].startswith("text/javascript")
    assert [again.status_code, changed.status_code, missing.status_code] == [304, 200, 404]
    assert "let b;" in changed.text
