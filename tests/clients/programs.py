"""Real clients of the API. To install them: python -m tests.clients.programs."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.patience import PATIENCE_S
from tests.serving import TOKEN

CACHE = Path.home() / ".cache/smart-context-clients"
FOLDER = Path(os.environ.get("SMART_CONTEXT_CLIENTS") or CACHE)
MODEL = "gpt-4o"
PYTHON_PACKAGES = ("llm", "langchain-openai")
NODE_PACKAGES = (
    *("openai", "ai", "@ai-sdk/openai", "@openai/codex", "@continuedev/cli", "opencode-ai"),
    # Old versions of the inspector send no key over HTTP, and 2 needs a newer Node than many have:
    # without a range, npm takes an old one instead.
    *("node@22", "@modelcontextprotocol/inspector@^2.12", "@anthropic-ai/claude-code"),
)

PROGRAMS = (str(Path(sys.executable).parent), str(FOLDER / "node_modules/.bin"))
"""Where `smart-context` and the clients are, for lines that are typed into a terminal."""

OPENAI_NODE = """
import OpenAI from "openai";
const [base, key, history] = process.argv.slice(2);
const client = new OpenAI({ baseURL: base, apiKey: key });
const stream = await client.chat.completions.create({
  model: "gpt-4o", messages: JSON.parse(history), stream: true,
});
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? "");
"""
AI_SDK = """
import { createOpenAI } from "@ai-sdk/openai";
import { streamText } from "ai";
const [base, key, history] = process.argv.slice(2);
const model = createOpenAI({ baseURL: base, apiKey: key })("gpt-4o");
process.stdout.write(await streamText({ model, messages: JSON.parse(history) }).text);
"""
OPENAI_PYTHON = """
import json, sys
from openai import OpenAI
base, key, history = sys.argv[1:]
client = OpenAI(base_url=base, api_key=key)
with client.chat.completions.stream(model="gpt-4o", messages=json.loads(history)) as stream:
    print(stream.get_final_completion().choices[0].message.content, end="")
"""


LANGCHAIN = """
import json, sys
from langchain_openai import ChatOpenAI
base, key, history = sys.argv[1:]
model = ChatOpenAI(base_url=base, api_key=key, model="gpt-4o")
for piece in model.stream(json.loads(history)):
    print(piece.content, end="")
"""
PACKAGES = Path(f"venv/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages")


@dataclass
class Client:
    """A client in a home of its own, which keeps its history, or is given it."""

    base_url: str
    home: Path
    turns: int = 0
    proxy = "http://127.0.0.1:9"  # nothing is asked of the network

    def __post_init__(self):
        self.history = []

    def run(self, *command):
        done = subprocess.run(
            [str(part) for part in command],
            capture_output=True,
            check=False,
            text=True,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE_S * 2,
            env={
                **os.environ,
                "HOME": str(self.home),
                "PWD": str(self.home),
                "PATH": os.pathsep.join((*PROGRAMS, os.environ["PATH"])),
                "XDG_CONFIG_HOME": str(self.home / ".config"),
                "XDG_DATA_HOME": str(self.home / ".local/share"),
                "LLM_USER_PATH": str(self.home / "llm"),
                "SMART_CONTEXT_KEY": TOKEN,
                "HTTPS_PROXY": self.proxy,
                "CONTINUE_TELEMETRY_ENABLED": "0",
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            },
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ask(self, question):
        self.turns += 1
        self.history.append({"role": "user", "content": question})
        answer = self.answer(question)
        self.history.append({"role": "assistant", "content": answer})
        return answer

    def answer(self, question):
        raise NotImplementedError


class Inspector(Client):
    """The inspector of MCP on the command line."""

    needs = FOLDER / "node_modules/.bin/mcp-inspector"
    proxy = ""  # version 2.12 does not start with one

    def asked(self, target, method, *more):
        patient = (
            "--connect-timeout",
            str(int(1_000 * PATIENCE_S)),
        )  # else 15 s, too few when busy
        found = self.run(self.needs, "--cli", *target, "--method", method, *patient, *more)
        return json.loads(found)


class OpenaiPython(Client):
    needs = Path(sys.executable)

    def answer(self, question):
        return self.run(
            sys.executable, "-c", OPENAI_PYTHON, self.base_url, TOKEN, json.dumps(self.history)
        )


class LangChain(Client):
    needs = FOLDER / PACKAGES / "langchain_openai"

    def answer(self, question):
        python = FOLDER / "venv/bin/python"
        return self.run(python, "-c", LANGCHAIN, self.base_url, TOKEN, json.dumps(self.history))


class Aider(Client):
    needs = FOLDER / "aider/bin/aider"

    def answer(self, question):
        settings = {
            "openai-api-base": self.base_url,
            "openai-api-key": TOKEN,
            "model": f"openai/{MODEL}",
            "weak-model": f"openai/{MODEL}",
            "edit-format": "ask",
            "message": question,
        }
        switches = "no-git yes-always no-check-update no-show-model-warnings no-analytics"
        switches += " no-pretty restore-chat-history no-auto-lint no-detect-urls no-gitignore"
        given = [f"--{name}={value}" for name, value in settings.items()]
        return self.run(self.needs, *given, *(f"--{name}" for name in switches.split()))


class ContinueCli(Client):
    needs = FOLDER / "node_modules/.bin/cn"

    def answer(self, question):
        settings = self.home / "config.yaml"
        model = {
            "name": "smart-context",
            "provider": "openai",
            "model": MODEL,
            "apiBase": self.base_url,
            "apiKey": TOKEN,
            "roles": ["chat"],
        }
        about = {"name": "tests", "version": "0.0.1", "schema": "v1", "models": [model]}
        settings.write_text(json.dumps(about), encoding="utf-8")  # JSON is YAML
        how = [] if self.turns == 1 else ["--resume"]
        return self.run(self.needs, "-p", question, "--config", settings, *how)


class OpenaiNode(Client):
    needs = FOLDER / "node_modules/openai"
    script = OPENAI_NODE

    def answer(self, question):
        script = FOLDER / f"{type(self).__name__}.mjs"
        script.write_text(self.script, encoding="utf-8")
        return self.run("node", script, self.base_url, TOKEN, json.dumps(self.history))


class AiSdk(OpenaiNode):
    needs = FOLDER / "node_modules/@ai-sdk/openai"
    script = AI_SDK


class Llm(Client):
    needs = FOLDER / "venv/bin/llm"

    def answer(self, question):
        folder = self.home / "llm"
        if not folder.exists():
            folder.mkdir()
            model = f"- model_id: smart-context\n  model_name: {MODEL}\n"
            model += f"  api_base: {self.base_url}\n  api_key_name: smart-context\n"
            (folder / "extra-openai-models.yaml").write_text(model, encoding="utf-8")
            (folder / "keys.json").write_text(json.dumps({"smart-context": TOKEN}), "utf-8")
        how = ["-m", "smart-context"] if self.turns == 1 else ["-c"]
        return self.run(self.needs, *how, question)


class Codex(Client):
    needs = FOLDER / "node_modules/.bin/codex"

    def take_tools(self, lines):
        """Type the lines, then wait for its tools, which else start beside the first question."""
        self.configure()
        self.run("sh", "-c", lines)
        with (self.home / ".codex/config.toml").open("a", encoding="utf-8") as settings:
            settings.write("required = true\n")

    def configure(self):
        folder = self.home / ".codex"
        if not folder.exists():
            folder.mkdir()
            settings = f"""
model = "{MODEL}"
model_provider = "smart-context"
[model_providers.smart-context]
name = "Smart Context"
base_url = "{self.base_url}"
env_key = "SMART_CONTEXT_KEY"
wire_api = "responses"
"""
            (folder / "config.toml").write_text(settings, encoding="utf-8")

    def answer(self, question):
        self.configure()
        how = ["exec"] if self.turns == 1 else ["exec", "resume", "--last"]
        return self.run(self.needs, *how, "--skip-git-repo-check", question)


class Opencode(Client):
    needs = FOLDER / "node_modules/.bin/opencode"
    more = "{}"

    def take_tools(self, lines):
        self.more = lines

    def answer(self, question):
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Smart Context",
            "options": {"baseURL": self.base_url, "apiKey": TOKEN},
            "models": {MODEL: {}},
        }
        settings = json.dumps({"provider": {"smart-context": provider}, **json.loads(self.more)})
        (self.home / "opencode.json").write_text(settings, encoding="utf-8")
        how = ["--title", "Talk"] if self.turns == 1 else ["--continue"]
        return self.run(self.needs, "run", *how, "--model", f"smart-context/{MODEL}", question)


def install():
    """Install the clients that are not here yet."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "venv", str(FOLDER / "venv")], check=True)
    subprocess.run([str(FOLDER / "venv/bin/pip"), "install", "-q", *PYTHON_PACKAGES], check=True)
    subprocess.run([sys.executable, "-m", "venv", str(FOLDER / "aider")], check=True)
    subprocess.run([str(FOLDER / "aider/bin/pip"), "install", "-q", "aider-chat"], check=True)
    subprocess.run(["npm", "init", "-y"], cwd=FOLDER, check=True, capture_output=True)
    subprocess.run(["npm", "install", "--silent", *NODE_PACKAGES], cwd=FOLDER, check=True)


if __name__ == "__main__":
    install()
