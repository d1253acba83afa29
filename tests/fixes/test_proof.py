"""Each fix alone, before PyTorch: it is content at the reported operation, and all else is computed as before."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import sampled
from tests.fixes.proof import TRIED, Proof, Result, programs_of
from tests.fixes.questions import mended, programs
from tests.fixes.test_on_fixtures import FILES, FIXTURES
from tests.judge import Judge

QUESTIONS = {program.name: program for program in programs()}


@pytest.mark.parametrize("file", sampled(FILES, 30), ids=lambda file: file.relative_to(FIXTURES).as_posix())
def test_pytorch_is_content_with_each_fix(file: Path, judge: Judge, tmp_path: Path) -> None:
    """Fixes of portability are alike and many; `test_on_fixtures` makes them all together."""
    proof = Proof(judge, file.parent, tmp_path / "copy")
    refused = [
        (tried.diagnostic.place.line, tried.diagnostic.code, tried.results)
        for tried in proof.try_fixes(programs_of(file), files=(file,), codes=TRIED)
        if tried.result in (Result.BROKEN, Result.USELESS)
    ]
    assert refused == []


@pytest.mark.parametrize(
    ("name", "unsafe"),
    [
        ("16_cpc_init_hidden", False),
        ("70_second_gpu_plain_cuda", False),
        ("02_circle_loss_head", True),
        ("08_dp_predict_cpu", True),
    ],
)
def test_fixes_mend_the_program_of_a_question(name: str, unsafe: bool, judge: Judge, tmp_path: Path) -> None:
    assert mended(judge, QUESTIONS[name], tmp_path, unsafe=unsafe) == "mends"


@pytest.mark.long
@pytest.mark.parametrize("name", QUESTIONS)
def test_no_fix_breaks_the_program_of_a_question(name: str, judge: Judge, tmp_path: Path) -> None:
    program = QUESTIONS[name]
    assert not mended(judge, program, tmp_path, unsafe=True).startswith("BREAKS")
    tried = Proof(judge, program.folder, tmp_path / "copy").try_fixes([program])
    assert [one.results for one in tried if one.result is Result.BROKEN] == []
