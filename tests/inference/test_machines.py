"""Programs that need a device: each line that is reported names the code of its rule."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from devlint.engine import run
from devlint.inference import check_text
from devlint.inspector import load_tools
from devlint.settings import Settings

PROGRAMS = {
    "a caller names the device": """
        import torch
        def placed(x, where):
            return x.to(where)  # DEV301
        placed(torch.ones(3), "cpu")
        placed(torch.ones(3), "cuda")
        """,
    "a caller tests for the device": """
        import torch
        def placed(x, where):
            return x.to(where)
        if torch.cuda.device_count() > 1:
            placed(torch.ones(3), "cuda:1")
        """,
    "only the first need on a way is told": """
        import torch
        x = torch.ones(3).cuda()  # DEV301
        y = torch.ones(3).cuda()
        z = torch.zeros(3, device=x.device)
        w = torch.ones(3, device="cuda:1")  # DEV302
        """,
    "a name is bound in one place": """
        import torch
        WHERE = "cuda:1"  # DEV302
        def made():
            return torch.ones(3, device=WHERE)
        def other():
            return torch.zeros(3, device=WHERE)
        made(), other()
        """,
    "a decorator skips a test": """
        import unittest
        import torch
        class Test(unittest.TestCase):
            @unittest.skipUnless(torch.cuda.is_available(), "needs CUDA")
            def test_one(self):
                torch.ones(3).cuda()
            @unittest.skipIf(torch.cuda.is_available(), "needs none")
            def test_two(self):
                torch.ones(3).cuda()  # DEV301
        """,
    "other methods of a class call a method": """
        import torch
        class Trainer:
            def _made(self):
                return torch.ones(3, device="cuda")
            def step(self):
                if self.gpu:
                    self._made()
        """,
    "an unknown test is on the way": """
        import torch
        from somewhere import wanted
        if wanted():
            torch.ones(3).cuda()
        """,
    "an option decides": """
        import argparse
        import torch
        args = argparse.ArgumentParser().parse_args()
        if args.gpu:
            torch.ones(3).cuda()
        """,
    "a handler takes another error": """
        import torch
        try:
            x = torch.ones(3).cuda()
        except RuntimeError:
            x = torch.ones(3)
        try:
            x = torch.ones(3).cuda()  # DEV301
        except ValueError:
            x = torch.ones(3)
        """,
    "a module without parameters needs no device": """
        import torch
        torch.nn.ReLU().cuda()
        torch.nn.Linear(3, 3).cuda()  # DEV301
        """,
    "a loop over the devices of the machine": """
        import torch
        for index in range(torch.cuda.device_count()):
            torch.ones(3).cuda(index)
        torch.ones(3).cuda(torch.cuda.device_count())  # DEV303
        """,
    "a class stores every attribute": """
        import torch
        class Net(torch.nn.Module):
            def __init__(self, **options):
                super().__init__()
                for name, value in options.items():
                    setattr(self, name, value)
        class Plain(torch.nn.Module):
            pass
        Net(device="cpu").device
        Plain().device  # DEV303
        """,
    "a variable hides a device": """
        import os
        import torch
        os.environ["CUDA_VISIBLE_DEVICES"] = "2,3"
        if torch.cuda.device_count() > 1:
            torch.ones(3, device="cuda:2")  # DEV305
        """,
    "a variable is set after the start": """
        import os
        import torch
        def choose(number):
            os.environ["CUDA_VISIBLE_DEVICES"] = number  # DEV305
        if torch.cuda.is_available():
            torch.ones(3).cuda()
        choose("1")
        """,
    "a program knows its device and loads without it": """
        import torch
        device = "cuda" if torch.cuda.is_available() else "cpu"
        torch.load("a.pt", map_location=device)
        torch.load("a.pt")  # DEV304
        """,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_a_missing_device_is_reported_where_it_is_named(text: str) -> None:
    program = textwrap.dedent(text)
    lines = [(number, line.partition("  # ")[2]) for number, line in enumerate(program.split("\n"), 1)]
    expected = [f"{number}: {code}" for number, code in lines if code]
    assert [" ".join(told.split(" ")[:2]) for told in check_text(program, "3")] == expected


@pytest.mark.parametrize(("devices", "expected"), [("0", [5, 6, 7]), ("1", [6]), ("2", []), (None, [5, 6])])
def test_a_configuration_states_the_devices_of_the_machine(
    devices: str | None, expected: list[int], tmp_path: Path
) -> None:
    file = tmp_path / "program.py"
    text = """
        import torch
        if torch.cuda.is_available():
            torch.ones(3, device="cuda:0")
        torch.ones(3, device="cuda:0")
        torch.ones(3, device="cuda:1")
        torch.zeros(3).to(f"cuda:{torch.cuda.device_count() - 1}")
        """
    file.write_text(textwrap.dedent(text))
    stated = "" if devices is None else f"devices = {devices}\n"
    (tmp_path / "devlint.toml").write_text(stated)
    settings = Settings((str(file),), select=("DEV3",), engine="inference", jobs=1)
    found = run(settings, load=load_tools).outcome.diagnostics
    assert [one.place.line for one in found] == expected
