"""`python -m tests.guard.rehearsal.worded FOLDER …`: whether other releases of torch have the words of a rehearsal.

Each folder holds another installed torch, such as `ENVIRONMENT/lib/python3.12/site-packages`. The script takes the
parts of all messages that a rehearsal raises, and looks for them in the libraries and Python files of torch. It prints
each part that the installed release has and another one lacks. A release that lacks none may stand in `words.KNOWN`.
"""

from __future__ import annotations

import argparse
import ast
import mmap
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import torch

from tests.conftest import REPOSITORY

_REHEARSAL: Final = REPOSITORY / "runtime_guard/devlint_guard/rehearsal"
_RAISING: Final = frozenset({"RuntimeError", "_CudaError", "refusal", "refuse"})
_SHORTEST: Final = 8


def texts() -> Iterator[str]:
    """Yield the parts of the messages that stand in calls which raise, line by line."""
    for file in sorted(_REHEARSAL.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args and ast.unparse(node.func).rpartition(".")[2] in _RAISING:
                yield from _parts(node.args[0])


def _parts(message: ast.expr) -> Iterator[str]:
    for node in ast.walk(message):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for line in node.value.replace("{}", "\n").splitlines():
                if len(line.strip()) >= _SHORTEST:
                    yield line.strip()


def found_in(folder: Path, wanted: set[str]) -> set[str]:
    """Return the texts that an installed torch has, in a compiled library or as literals of Python files."""
    literals = "\n".join(_literals(file) for name in (".", "cuda") for file in (folder / name).glob("*.py"))
    found = {text for text in wanted if text in literals}
    for library in (*folder.glob("lib/*.so*"), *folder.glob("_C*.so")):
        with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as memory:
            found |= {text for text in wanted - found if memory.find(text.encode()) >= 0}
    return found


def _literals(file: Path) -> str:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return "\n".join(
        node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and type(node.value) is str
    )


def main() -> int:
    """Return 1 if a folder lacks a text that the installed release has."""
    parser = argparse.ArgumentParser(prog="python -m tests.guard.rehearsal.worded", description=main.__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    wanted = set(texts())
    own = found_in(Path(torch.__file__).parent, wanted)
    print(f"torch {torch.__version__}: {len(own)} of {len(wanted)} texts")
    code = 0
    for folder in parser.parse_args().folders:
        found = found_in(folder / "torch", wanted)
        print(f"{folder}: {len(found)} of {len(wanted)} texts")
        for text in sorted(own - found):
            code = 1
            print(f"  missing: {text}")
    return code


if __name__ == "__main__":
    sys.exit(main())
