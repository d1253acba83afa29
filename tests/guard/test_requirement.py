"""A torch that is missing or too old is named in one sentence, by each way in, and the promised floor is one number."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from devlint_guard import DevlintWarning, guard, requirement  # noqa: E402
from devlint_guard.watch import active  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch._dynamo.testing import CompileCounterWithBackend  # noqa: E402

from tests.conftest import REPOSITORY, read_toml  # noqa: E402
from tests.guard.processes import python, write  # noqa: E402

MISSING = "raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n"
OLD = '__version__ = "2.3.1+cu121"\n'
FLOOR = f"{requirement.LOWEST[0]}.{requirement.LOWEST[1]}"
NEEDED = f"the runtime guard needs torch {FLOOR} or newer, but torch"
SENTENCES = {
    MISSING: f"{NEEDED} is not installed: pip install 'torch>={FLOOR}'",
    OLD: f"{NEEDED} 2.3.1+cu121 is installed: pip install -U 'torch>={FLOOR}'",
}


@pytest.mark.parametrize("torch", [MISSING, OLD], ids=["missing", "old"])
@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        ("-m devlint run script.py", "error: {}\n", 2),
        ("-m devlint merge-reports run.json --output all.json", "error: {}\n", 2),
        ("-m pytest --devlint-guard -q script.py", "ERROR: {}\n\n", 4),
        ("-W error -c 'import devlint_guard'", "Error: {}\n", 1),
    ],
)
def test_one_sentence_says_so(tmp_path: Path, torch: str, arguments: str, said: str, code: int) -> None:
    write(tmp_path / "torch.py", torch)
    write(tmp_path / "script.py", "print('ran')\n")
    write(tmp_path / "run.json", "{}")
    words = [word.strip("'") for word in re.findall(r"'[^']*'|\S+", arguments)]
    ended = python(tmp_path, *words, PYTHONPATH=str(REPOSITORY / "runtime_guard"))
    assert (ended.returncode, ended.stdout.strip()) == (code, ""), ended.stdout
    assert ended.stderr.endswith(said.format(SENTENCES[torch]))
    assert "devlint_guard/session.py" not in ended.stderr


@pytest.mark.parametrize(
    ("version", "is_enough"),
    [
        ("2.3.1", False),
        ("1.13.1+cpu", False),
        (FLOOR, True),
        (f"{FLOOR}.0a0+git1234", True),
        ("2.14.1", True),
        ("10.0", True),
        ("unknown", True),
    ],
)
def test_releases_are_compared_as_numbers(monkeypatch: pytest.MonkeyPatch, version: str, is_enough: bool) -> None:
    monkeypatch.setattr(torch, "__version__", version)
    if is_enough:
        requirement.require_torch()
    else:
        with pytest.raises(ImportError, match=re.escape(f"torch {version} is installed")):
            requirement.require_torch()


def test_the_floor_is_one_number() -> None:
    project = read_toml(REPOSITORY / "pyproject.toml")["project"]
    assert project["optional-dependencies"]["guard"] == [f"torch>={FLOOR}"]
    for page in ("README.md", "guard.md"):
        assert f"torch {FLOOR} or newer" in (REPOSITORY / "runtime_guard" / page).read_text(encoding="utf-8")


class Doubled(nn.Linear):
    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input) * 2


@pytest.mark.parametrize("is_in_place", [False, True])
def test_below_the_full_release_a_guard_ends_where_compiled_code_begins(
    monkeypatch: pytest.MonkeyPatch, is_in_place: bool
) -> None:
    monkeypatch.setattr(requirement, "FULL", (99, 0))
    monkeypatch.setattr(active, "_reason", "torch 2.11 or newer")
    torch._dynamo.reset()
    call, net, x, counter = nn.Module.__call__, Doubled(2, 2), torch.ones(1, 2), CompileCounterWithBackend("eager")
    compiled: Callable[[Tensor], Tensor] = net
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", DevlintWarning)
        for step in range(2):
            with guard(net, level="deep", mode="record"), guard(level="deep", mode="record") as inner:
                if is_in_place and step == 0:
                    net.compile(backend=counter)
                elif step == 0:
                    compiled = torch.compile(net, backend=counter)
                Doubled(2, 2)(x)
                assert nn.Module.__call__ is not call
                assert torch._C._len_torch_dispatch_stack() == 1
                torch.autograd.backward(compiled(x).sum())
                assert nn.Module.__call__ is call
                assert torch._C._len_torch_dispatch_stack() == 0
    assert counter.frame_count == 1
    assert [one.category for one in seen] == [DevlintWarning]
    assert str(seen[0].message) == "the guard stops looking, torch 2.11 or newer"
    with pytest.raises(TypeError) as caught, inner:
        compiled(x).to("meta").detach().numpy()
    assert "devlint: DEV" in "".join(caught.value.__notes__)
