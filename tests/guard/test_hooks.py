"""Where errors are shown: on a terminal in colour, in threads, in logs, in IPython."""

from __future__ import annotations

import io
import logging
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from devlint.cli import main  # noqa: E402
from devlint_guard import guard  # noqa: E402
from devlint_guard.hooks import install_excepthook  # noqa: E402

from tests.guard.processes import forked, write  # noqa: E402

COLOUR = "\x1b["
COLOURS = re.compile(r"\x1b\[\d+m")


def mixed() -> None:
    table = torch.ones(3, device="meta")
    table + torch.ones(3)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)  # pytest has one of its own
    before = sys.excepthook, threading.excepthook
    uninstall = install_excepthook()
    yield
    uninstall()
    assert (sys.excepthook, threading.excepthook) == before


# --- colour -------------------------------------------------------------------------------------------------

PROGRAMS = {
    "refused": "import torch\ntable = torch.ones(3, device='meta')\ntable + torch.ones(3)\n",
    "passed": "import torch\ntable = torch.ones(3, 3, device='meta')\ntorch.ones(3, 3) @ table\n",
}
"""PyTorch's error has a note; where PyTorch has none, the guard's own error is the text."""


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    ("environment", "is_coloured"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_what_devlint_run_prints_has_the_colours_that_the_user_wants(
    tmp_path: Path, program: str, environment: dict[str, str], is_coloured: bool
) -> None:
    write(tmp_path / "train.py", PROGRAMS[program])
    ended = forked(tmp_path, main, ["devlint", "run", "train.py"], {"NO_COLOR": "", "FORCE_COLOR": "", **environment})
    assert ended.returncode == 1
    assert (COLOUR in ended.stderr) is is_coloured
    text = COLOURS.sub("", ended.stderr)
    assert "devlint: DEV602" in text
    assert "     | ^^^^^" in text or "    | ^^^^^" in text
    if is_coloured:
        assert "\x1b[1m\x1b[31mdevlint: DEV602\x1b[0m" in ended.stderr
        assert "\x1b[31m^^^^^\x1b[0m" in ended.stderr


def test_the_note_stays_plain_for_the_program(installed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with pytest.raises(RuntimeError) as caught, guard():
        mixed()
    sys.excepthook(type(caught.value), caught.value, caught.value.__traceback__)
    assert [COLOUR in note for note in caught.value.__notes__] == [False]


# --- threads and logs ---------------------------------------------------------------------------------------


def test_errors_of_other_threads_are_explained(installed: None, capsys: pytest.CaptureFixture[str]) -> None:
    thread = threading.Thread(target=mixed)
    thread.start()
    thread.join()
    assert "devlint: DEV602" in capsys.readouterr().err


def test_devlint_run_explains_errors_of_other_threads(tmp_path: Path) -> None:
    text = """\
        import threading, time, torch

        def work():
            time.sleep(0.2)
            torch.ones(3, device="meta") + torch.ones(3)

        threading.Thread(target=work).start()
        """
    write(tmp_path / "train.py", text)
    ended = forked(tmp_path, main, ["devlint", "run", "train.py"], {})
    assert ended.returncode == 0
    assert ended.stderr.count("devlint: DEV602") == 1


@pytest.mark.skipif(sys.version_info < (3, 11), reason="CPython 3.10 has no notes")
def test_a_log_has_the_explanation_without_colours(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    try:
        with guard():
            mixed()
    except RuntimeError:
        logging.getLogger("train").exception("failed")
    assert "devlint: DEV602" in caplog.text
    assert COLOUR not in caplog.text


# --- IPython ------------------------------------------------------------------------------------------------

CELLS = """
import sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance(colors=sys.argv[1])
shell.run_cell("import torch, devlint_guard\\nuninstall = devlint_guard.install_excepthook()")
shell.run_cell("table = torch.ones(3, device='meta')\\ntable + torch.ones(3)")
shell.run_cell("uninstall()")
shell.run_cell("table + torch.ones(3)")
"""


@pytest.mark.parametrize(("colours", "is_coloured"), [("linux", True), ("nocolor", False)])
def test_cells_of_ipython_end_with_an_explanation(tmp_path: Path, colours: str, is_coloured: bool) -> None:
    pytest.importorskip("IPython")
    from tests.guard.processes import python

    write(tmp_path / "cells.py", CELLS)
    environment = {"IPYTHONDIR": str(tmp_path), "NO_COLOR": "", "PYTHONPATH": ":".join(sys.path)}
    ended = python(tmp_path, "cells.py", colours, **environment)
    shown = ended.stdout + ended.stderr
    assert COLOURS.sub("", shown).count("devlint: DEV602") == 1, shown
    assert ("\x1b[31mdevlint: DEV602" in shown) is is_coloured
