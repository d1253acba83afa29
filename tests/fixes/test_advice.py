"""What holds for the advice of every report: its code is Python that can run, and each offered edit has an effect."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from devlint import engine
from devlint.decoding import decode
from devlint.diagnostics import Diagnostic
from devlint.fixes import apply_to_bytes
from devlint.settings import Settings
from devlint.sources import program_of

from tests.conftest import REPOSITORY, sampled

FIXTURES = REPOSITORY / "fixtures"
FILES = [
    file
    for folder in ("causes", "rules", "tutorials", "flow", "libraries", "showcase", "questions")
    for file in sorted((FIXTURES / folder).rglob("*.py"))
]

_CODE = re.compile(r"`([^`]+)`")


def _trees(text: str) -> Iterator[ast.AST]:
    """The code in a sentence: an expression, a statement, what is behind a value, or an argument of a call."""
    for code in _CODE.findall(text):
        if "…" in code:
            continue
        for form in (code, f"value{code}", f"call({code})", f"{code} 1", f"1 {code} 1", f"{code}\n    pass"):
            try:
                yield ast.parse(form)
                break
            except SyntaxError:
                continue
        else:
            pytest.fail(f"`{code}` is no code: {text}")


def vain(tree: ast.AST) -> Counter[str]:
    """What no advice says: a parameter that a replica lacks, a move twice, a copy of what is no tensor."""
    found: Counter[str] = Counter()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr="device", value=ast.Call(func=ast.Name(id="next"))):
                found["the device of next(…)"] += 1
            case ast.Call(
                func=ast.Attribute(attr="cpu", value=ast.List() | ast.ListComp() | ast.Dict() | ast.Constant())
            ):
                found["a copy of a list"] += 1
            case ast.Call(
                func=ast.Attribute(
                    attr="cpu" | "detach" | "to" | "cuda" as one,
                    value=ast.Call(func=ast.Attribute(attr=other), args=given),
                ),
                args=own,
            ) if one == other and [*map(ast.dump, own)] == [*map(ast.dump, given)]:
                found[f".{one}() twice"] += 1
    return found


def check(file: Path) -> None:
    """Hold the reports on a file against the law."""
    run = engine.run(Settings((str(file),), isolated=True))
    for one in run.outcome.diagnostics:
        for tree in _trees(one.advice or ""):
            assert not vain(tree), one.advice
        _has_an_effect(file, one)


def _has_an_effect(file: Path, one: Diagnostic) -> None:
    if one.fix is None or one.code == "DEV902":  # a comment
        return
    data = file.read_bytes() if one.place.file in (str(file), file.name) else Path(one.place.file).read_bytes()
    before = program_of(decode(data, one.place.file), one.place.file).text
    after = program_of(decode(apply_to_bytes(data, one.fix.edits, one.place.file), one.place.file), one.place.file).text
    assert ast.dump(ast.parse(before)) != ast.dump(ast.parse(after))
    assert not vain(ast.parse(after)) - vain(ast.parse(before)), one.fix.message


@pytest.mark.parametrize("file", sampled(FILES, 30), ids=lambda file: file.relative_to(FIXTURES).as_posix())
def test_advice_can_be_followed(file: Path) -> None:
    check(file)


def test_advice_for_each_kind() -> None:
    check(FIXTURES / "causes" / "devices_at_hand.py")
    check(FIXTURES / "showcase" / "train.py")


REFUSED = {
    "libraries/matplotlib_axes.py": "both arguments of a call are one value, and the fix is of the first",
    "rules/discarded_move/tensors.py": "with the move that was discarded, the next line fails",
    "rules/distributed_device_ids/wrappers.py": "the fix writes a number of a device, which is hard-coded then",
}
"""Files with a promise that is not kept, with the reason."""


@pytest.mark.parametrize("file", sampled(FILES, 15), ids=lambda file: file.relative_to(FIXTURES).as_posix())
def test_a_promised_fix_is_made(file: Path) -> None:
    run = engine.run(Settings((str(file),), isolated=True, fix=True, unsafe_fixes=True))
    name = file.relative_to(FIXTURES).as_posix()
    assert any("is not made" in warning for warning in run.warnings) is (name in REFUSED)


def test_a_promised_fix_is_made_for_each_kind() -> None:
    for name in ("rules/input_not_on_module_device/layers", "rules/mixed_device_operands/one_cause"):
        test_a_promised_fix_is_made(FIXTURES / f"{name}.py")
    test_a_promised_fix_is_made(FIXTURES / "questions" / "78_sampler_two_globals_mps" / "sampling.py")
