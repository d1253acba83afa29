"""The files that the peers are run on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

_DEEP = "import os\nif a == 0:\n    x = 0\n" + "".join(f"elif a == {n}:\n    x = {n}\n" for n in range(1, 1200))

SAMPLES: Mapping[str, str] = MappingProxyType(
    {
        # Two tensors on two devices, in line 4.
        "mixed.py": 'import torch\n\na = torch.ones(3, device="cuda:0")\nb = a + torch.ones(3)\n',
        # Two tensors on one device, which a rule that follows words from one place to another cannot tell from that.
        "same.py": 'import torch\n\na = torch.ones(3, device="cuda:0")\nb = a + torch.ones(3, device="cuda:0")\n',
        "devices.yaml": (
            "rules:\n  - id: devices\n    mode: taint\n"
            '    pattern-sources:\n      - pattern: torch.ones(..., device="cuda:0")\n'
            "    pattern-sinks:\n      - pattern: $A + $B\n"
            "    message: a tensor on a device\n    languages: [python]\n    severity: ERROR\n"
        ),
        # What each of them reports with its own rules: an unused import, a deprecated function of torch, eval.
        "found.py": "import os\nimport torch\n\nx = torch.qr(torch.ones(3, 3))\neval(input())\ny: int = 'text'\n",
        "clean.py": '"""Nothing."""\n',
        # A comment of each that silences nothing.
        "idle.py": '"""Idle."""\n\nX = 1  # noqa: F401\nY = 1  # pylint: disable=unused-import\n',
        # A chain of 1200 branches, beside which other files must still be reported.
        "deep/deep.py": _DEEP,
        "deep/found.py": "import os\nimport torch\n\nx = torch.qr(torch.ones(3, 3))\neval(input())\ny: int = 'text'\n",
        # A notebook whose second cell has something to report.
        "book.ipynb": (
            '{"cells": [{"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [],'
            ' "source": ["import os\\n", "x = 1"]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
        ),
        "rules.yaml": (
            "rules:\n  - id: no-eval\n    pattern: eval(...)\n    message: no eval\n"
            "    languages: [python]\n    severity: ERROR\n"
        ),
        "fixit/pyproject.toml": '[tool.fixit]\nroot = true\nenable = ["fixit.rules.no_such_rule"]\n',
        "fixit/a.py": "x = 1\n",
        "pyright/pyrightconfig.json": '{"reportNoSuchThing": "error"}',
        "pyright/a.py": "x = 1\n",
        "idle-pyright/pyrightconfig.json": '{"reportUnnecessaryTypeIgnoreComment": "error"}',
        "idle-pyright/a.py": "x = 1  # type: ignore\n",
    }
)


def write_samples(folder: Path) -> None:
    """Write all of them below a folder."""
    for name, text in SAMPLES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
