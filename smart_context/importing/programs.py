"""The programs whose chats can be read."""

from collections.abc import Mapping

import tomli

from smart_context.base.resources import text_beside
from smart_context.importing.readers.aider import AIDER
from smart_context.importing.readers.chatbox import CHATBOX
from smart_context.importing.readers.chatgpt import CHATGPT
from smart_context.importing.readers.claude import CLAUDE
from smart_context.importing.readers.claude_code import CLAUDE_CODE
from smart_context.importing.readers.codex import CODEX
from smart_context.importing.readers.continue_dev import CONTINUE
from smart_context.importing.readers.deepseek import DEEPSEEK
from smart_context.importing.readers.gemini import GEMINI
from smart_context.importing.readers.gemini_cli import GEMINI_CLI
from smart_context.importing.readers.librechat import LIBRECHAT
from smart_context.importing.readers.llm_log import LLM
from smart_context.importing.readers.lobechat import LOBECHAT
from smart_context.importing.readers.open_webui import OPEN_WEBUI
from smart_context.importing.readers.openai_lists import OPENAI
from smart_context.importing.readers.opencode import OPENCODE
from smart_context.importing.readers.qwen_code import QWEN_CODE
from smart_context.importing.readers.sillytavern import SILLYTAVERN

PROGRAMS = (
    *(DEEPSEEK, CHATGPT, CLAUDE, GEMINI_CLI, CONTINUE, OPENCODE, OPEN_WEBUI, LIBRECHAT, GEMINI),
    *(LOBECHAT, CHATBOX, CODEX, QWEN_CODE, CLAUDE_CODE, SILLYTAVERN, AIDER, LLM),
    OPENAI,  # last, because other programs have lists of messages, too
)
"""The first program that recognises a chat reads it."""

OWN = "smart-context"
"""The name of Smart Context's own exports among the programs."""

FORMATS = (*(program.name for program in PROGRAMS), OWN)
"""The names of all formats that can be read, as in `source.client`."""

_TITLES = {program.name: program.title for program in PROGRAMS}
WHERE: Mapping[str, str] = {
    _TITLES[name]: where for name, where in tomli.loads(text_beside(__file__, "where.toml")).items()
}
"""Which file has a program's chats, and where one gets it, by the program's title."""
