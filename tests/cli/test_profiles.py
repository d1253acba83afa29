"""Profiles report what the checks of PyTorch, DeepSpeed and vLLM refuse, here written down once more, on programs."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from devlint.cli import devlint

PROGRAM = """\
import os

import torch
from torch import nn


def seed(number):
    torch.manual_seed(number)
    torch.cuda.manual_seed_all(number)


def place(net, rank):
    torch.cuda.set_device(rank)
    if torch.cuda.is_available():
        net = net.cuda()
    x = torch.ones(3).cuda(); torch.cuda.synchronize()
    with torch.cuda.device(0):
        y = torch.zeros(3, device="cuda")
    stream = torch.cuda.current_stream()
    stream.synchronize()
    return net, x, torch.cuda.memory_allocated() / torch.cuda.mem_get_info()[1]


@pytest.mark.slow
@requires_gpu()
def test_any_gpu(self):
    x = torch.ones(3, device="cuda")
    net = nn.Linear(3, 3).cuda()
    y = torch.ones(3, device=torch.device("cuda"))
    z = torch.ones(3, device="cpu").to("cuda")

    def inner():
        return net(x.cuda(0))


@common.requires_gpu("big")
def test_attribute():
    return torch.randn(3, dtype=torch.half, device="cuda")


@requires_cuda()
def test_cuda():
    torch.cuda.empty_cache()
    return torch.ones(3, device="cuda")
"""


def of_deepspeed(text: str) -> set[int]:
    """Lines with the words; the check searches text, so the programs have these in code only."""
    return {n for n, line in enumerate(text.split("\n"), 1) if re.search(r"torch\.cuda|\.cuda\(\)", line)}


_VLLM = re.compile(
    r"\btorch\.cuda\.(?:empty_cache|synchronize|device_count|current_device|memory_reserved|memory_allocated"
    r"|max_memory_allocated|max_memory_reserved|reset_peak_memory_stats|memory_stats|mem_get_info|set_device"
    r"|manual_seed|manual_seed_all)\b|\bwith\storch\.cuda\.device\b"
)


def of_vllm(text: str) -> set[int]:
    """Lines with functions of `torch.cuda` that are on the list."""
    return {n for n, line in enumerate(text.split("\n"), 1) if _VLLM.search(line)}


def of_pytorch(text: str) -> set[int]:
    """Lines of tests for any GPU that hand over CUDA as the device, or call `.cuda()`."""
    lines: set[int] = set()
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef):
            continue
        calls = [decorator.func for decorator in function.decorator_list if isinstance(decorator, ast.Call)]
        if any(ast.unparse(call).split(".")[-1] == "requires_gpu" for call in calls):
            lines |= {line for node in ast.walk(function) for line in _lines_of(node)}
    return lines


def _lines_of(node: ast.AST) -> list[int]:
    match node:
        case ast.keyword(arg="device", value=ast.Constant(value="cuda") as value):
            return [value.lineno]
        case ast.keyword(
            arg="device", value=ast.Call(ast.Attribute(attr="device"), [ast.Constant("cuda"), *_]) as call
        ):
            return [call.lineno]
        case ast.Call(func=ast.Attribute(attr="cuda")):
            return [node.lineno]
        case _:
            return []


CHECKS = {"deepspeed": of_deepspeed, "vllm": of_vllm, "pytorch": of_pytorch}


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(devlint, ["check", "--output-format", "concise", "--quiet", *arguments])


def _lines(result: Result) -> list[int]:
    return [int(line.split(":")[1]) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("name", CHECKS)
def test_a_profile_reports_the_lines_of_the_check(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text(PROGRAM)
    check: Callable[[str], set[int]] = CHECKS[name]
    expected = check(PROGRAM)
    if name == "deepspeed":  # whose pattern takes `.cuda(0)` for something else
        expected |= {n for n, line in enumerate(PROGRAM.split("\n"), 1) if ".cuda(0)" in line}
    assert expected
    found = _run("--config", f"profile:{name}", "a.py")
    assert set(_lines(found)) == expected
    Path("devlint.toml").write_text(f'extend = "profile:{name}"\n')
    assert _run("a.py").stdout == found.stdout


def test_what_a_project_sets_goes_before_its_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("layer").mkdir()
    Path("layer/a.py").write_text(PROGRAM)
    Path("a.py").write_text("import torch\n\ntorch.cuda.synchronize()\ntorch.device('gpu')\n")
    Path("devlint.toml").write_text(
        'extend = "profile:vllm"\nextend-select = ["DEV303"]\nper-file-ignores = {"layer/**" = ["ALL"]}\n'
    )
    assert _lines(_run(".")) == [3, 4]


@pytest.mark.parametrize("wrong", ["profile:vlm", "profile:"])
def test_a_profile_that_there_is_not(wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("devlint.toml").write_text(f'extend = "{wrong}"\n')
    names = "there are profile:deepspeed, profile:pytorch, profile:vllm"
    for arguments in ((".",), ("--config", wrong, ".")):
        result = _run(*arguments)
        assert result.exit_code == 2
        assert f'unknown profile "{wrong}"' in result.stderr
        assert names in result.stderr
