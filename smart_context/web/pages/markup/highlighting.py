"""Highlights code in common languages, up to a sensible length.

On hostile code Pygments' patterns take quadratic time or worse and block all threads, so a server
does this in a child process.
"""

import html

MAX_HIGHLIGHTED_CHARS = 20_000
"""Longer code is shown without colours."""

LANGUAGES = frozenset(
    {
        *("ada", "applescript", "arduino", "asm", "awk", "bash", "bat", "batch", "bibtex", "c"),
        *("c#", "c++", "clj", "clojure", "cmake", "cobol", "coffeescript", "console", "cpp"),
        *("crystal", "cs", "csharp", "css", "cuda", "cypher", "d", "dart", "diff", "docker"),
        *("dockerfile", "dot", "elisp", "elixir", "elm", "emacs-lisp", "erb", "erlang", "ex", "f#"),
        *("fish", "fortran", "fsharp", "gcode", "gdscript", "gherkin", "glsl", "go", "golang"),
        *("graphql", "groovy", "haskell", "hcl", "hlsl", "hs", "html", "http", "ini", "java"),
        *("javascript", "jinja", "jl", "js", "json", "jsx", "julia", "kotlin", "latex", "less"),
        *("lisp", "lua", "makefile", "markdown", "matlab", "md", "mysql", "nasm", "nginx", "nim"),
        *("nix", "objc", "objective-c", "ocaml", "octave", "pascal", "perl", "php", "pl"),
        *("plpgsql", "postgres", "postgresql", "powershell", "prolog", "properties", "protobuf"),
        *("ps1", "puppet", "py", "pycon", "python", "python3", "r", "racket", "rb", "rego"),
        *("robotframework", "rs", "rst", "ruby", "rust", "sas", "sass", "scala", "scheme", "scss"),
        *("sh", "shell", "smalltalk", "solidity", "sparql", "sql", "sqlite3", "stata", "swift"),
        *("systemverilog", "tcl", "terraform", "tex", "text", "toml", "ts", "tsx", "typescript"),
        *("typst", "udiff", "vala", "vb.net", "verilog", "vhdl", "vim", "vue", "wgsl", "xml"),
        *("yaml", "yml", "zig", "zsh"),
    }
)


def highlight(code: str, language: str) -> str:
    """Code as HTML with classes for its tokens; escaped text if the language is unknown."""
    if language not in LANGUAGES or len(code) > MAX_HIGHLIGHTED_CHARS:
        return html.escape(code)
    # Pygments takes 60 ms to import, and most chats open without a line of code; it has no types.
    from pygments import highlight as colour  # type: ignore[import-untyped]  # noqa: PLC0415
    from pygments.formatters.html import HtmlFormatter  # type: ignore[import-untyped]  # noqa: PLC0415
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]  # noqa: PLC0415
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]  # noqa: PLC0415

    try:
        lexer = get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:  # an older Pygments
        return html.escape(code)
    return str(colour(code, lexer, HtmlFormatter(nowrap=True)))
