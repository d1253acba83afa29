"""Unusual programs run under a guard as without it; a guard that fails steps back instead of ending them."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from unittest.mock import Mock

import pytest

torch = pytest.importorskip("torch")

from devlint_guard import guard  # noqa: E402
from devlint_guard.errors import DevlintWarning  # noqa: E402
from devlint_guard.watch import active, scopes  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from tests.conftest import REPOSITORY  # noqa: E402
from tests.copies import HUGE_PAGES  # noqa: E402
from tests.guard.processes import python, write  # noqa: E402

LEVELS = ("module", "adaptive", "deep")


def _run(*arguments: str) -> tuple[int, int, str]:
    path = os.pathsep.join((str(REPOSITORY / "runtime_guard"), str(REPOSITORY)))
    done = subprocess.run(
        [sys.executable, "-m", "tests.guard.unusual.run", *arguments],
        cwd=REPOSITORY,
        env={**os.environ, **HUGE_PAGES, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    counts = re.search(r"^(\d+) programs: (\d+) differences", done.stdout, re.MULTILINE)
    assert counts is not None, done.stderr
    return int(counts[1]), int(counts[2]), done.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each program is a copy of one process")
@pytest.mark.parametrize(
    ("arguments", "least"), [(("--short",), 30), pytest.param((), 235, marks=pytest.mark.long)], ids=["short", "full"]
)
def test_programs_do_what_they_do_without_a_guard(arguments: tuple[str, ...], least: int) -> None:
    count, differences, text = _run(*arguments)
    assert count >= least
    assert differences == 0, text


# --- modes and scopes ---------------------------------------------------------------------------------------


def infer(net: nn.Module, count: int) -> Tensor:
    for _ in range(count):
        result: Tensor = net(torch.ones(1, 2)) + torch.zeros(2)
    return result


def keys_agree() -> bool:
    """Whether this thread has the keys of modes just where it has modes."""
    return bool(scopes.stack()) is torch._C._dispatch_tls_is_dispatch_key_included("Python")


@pytest.mark.parametrize("inner", [True, False])
def test_a_step_ends_inside_of_scopes_that_look_like_the_outermost(inner: bool) -> None:
    net = nn.Linear(2, 2).eval()
    with torch.inference_mode(inner), guard(net):
        with torch.inference_mode(), torch.inference_mode(inner):
            infer(net, 6)
            assert scopes.stack() == []
        assert keys_agree()
        infer(net, 2)
    assert keys_agree()


def test_a_mode_that_is_put_in_inside_of_a_scope_works_behind_it() -> None:
    net = nn.Linear(2, 2).eval()
    with guard(net, first_steps=1, every=4, mode="record") as active_guard:
        infer(net, 3)
        with torch.inference_mode():
            infer(net, 2)
            assert scopes.stack() != []
        assert keys_agree()
        torch.ones(2, 2) @ torch.ones(2, 2, device="meta")
    assert [finding.code for finding in active_guard.findings] == ["DEV602"]


def test_a_guard_ends_inside_of_a_scope_that_began_in_it() -> None:
    net, scope = nn.Linear(2, 2).eval(), torch.inference_mode()
    with guard(net):
        scope.__enter__()
        infer(net, 1)
    infer(net, 1)
    assert torch.inference_mode.__exit__.__module__ == torch.autograd.grad_mode.__name__
    scope.__exit__(None, None, None)
    assert keys_agree()
    assert torch.inference_mode.__exit__.__code__.co_filename != scopes.__file__
    infer(net, 1)


def test_a_mode_waits_in_a_scope_that_cannot_be_followed() -> None:
    net = nn.Linear(2, 2).eval()
    with guard(net):
        with torch._C._InferenceMode(True):
            infer(net, 6)
            assert scopes.stack() != []
        infer(net, 1)
        assert scopes.stack() == []


def test_steps_that_end_in_the_backward_pass_leave_nothing() -> None:
    net = nn.Linear(2, 2).eval()
    optimizers = {one: torch.optim.SGD([one], lr=0.1) for one in net.parameters()}
    for parameter in net.parameters():
        parameter.register_post_accumulate_grad_hook(lambda one: optimizers[one].step())  # type: ignore[no-untyped-call]
    with guard(net):
        for _ in range(6):
            infer(net, 1).sum().backward()  # type: ignore[no-untyped-call]
    assert scopes.stack() == []
    assert keys_agree()


def test_scopes_of_another_thread_do_not_matter() -> None:
    net, problems = nn.Linear(2, 2).eval(), list[BaseException]()

    def work() -> None:
        try:
            with torch.inference_mode():
                infer(net, 6)
            assert keys_agree()
        except BaseException as error:
            problems.append(error)

    with guard(net):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        infer(net, 6)
    assert problems == []


# --- what fails in a guard ----------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ["audit_called", "state_elsewhere"])
def test_a_guard_that_fails_steps_back_with_one_warning(monkeypatch: pytest.MonkeyPatch, level: str, name: str) -> None:
    fails = Mock(side_effect=LookupError("something unforeseen"))  # not a function of the user's
    monkeypatch.setattr(f"devlint_guard.session.{name}", fails)
    net = nn.Linear(2, 2).eval()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with warnings.catch_warnings(record=True) as seen, guard(level=level):  # type: ignore[arg-type]
        warnings.simplefilter("always")
        for _ in range(5):
            infer(net, 1).sum().backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        assert nn.Module.__call__.__code__.co_filename != active.interpose.__file__  # type: ignore[attr-defined]
        assert scopes.stack() == []
    assert [one.category for one in seen] == [DevlintWarning]
    assert "LookupError: something unforeseen" in str(seen[0].message)
    assert seen[0].filename == __file__


@pytest.mark.filterwarnings("ignore::devlint_guard.errors.DevlintWarning")
def test_another_guard_goes_on() -> None:
    linear = nn.Linear(2, 2, device="meta")
    with guard(linear, mode="record") as first, guard() as second:
        second.watching.step_back(LookupError("broken"))
        with pytest.raises(RuntimeError):
            linear(torch.ones(1, 2))
    assert "DEV602" in [finding.code for finding in first.findings]
    assert second.findings == []


def test_the_fast_path_keeps_no_function_of_another_library() -> None:
    original = nn.Module.__call__

    class Kept:
        def __call__(self, *args: object) -> object:
            return original(*args)

    kept = Kept()
    alive = {id(kept)}
    nn.Module.__call__ = lambda self, *args, kept=kept: kept(self, *args)  # type: ignore[method-assign]
    with guard():
        infer(nn.Linear(2, 2), 4)
    nn.Module.__call__ = original  # type: ignore[method-assign]
    del kept
    gc.collect()
    assert not any(id(one) in alive and type(one) is Kept for one in gc.get_objects())


# --- the launcher -------------------------------------------------------------------------------------------

INTERRUPTED = """\
import atexit, os, signal, sys, time
atexit.register(print, "at exit")
print(sorted(globals()), type(__builtins__).__name__, globals().get("__annotations__"), sys.stdout.errors, flush=True)
def deep(n=1):
    try:
        return deep(n + 1)
    except RecursionError:
        return n
print(deep(), flush=True)
os.kill(os.getpid(), signal.SIGINT)
time.sleep(5)
"""


def test_an_interrupted_program_ends_by_the_signal(tmp_path: Path) -> None:
    write(tmp_path / "program.py", INTERRUPTED)
    alone, guarded = python(tmp_path, "program.py"), python(tmp_path, "-m", "devlint", "run", "program.py")
    assert alone.returncode < 0
    assert guarded.returncode == alone.returncode
    assert guarded.stderr == alone.stderr
    assert guarded.stdout == alone.stdout
