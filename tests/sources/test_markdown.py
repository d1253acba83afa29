"""Fenced Python in Markdown is one program, at the lines where it stands; on request only."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from devlint.cli import devlint
from devlint.sources.markdown import extract

TUTORIAL = """\
# Adding

```python
import torch

x = torch.ones(2)
```

Then:

1. on the GPU

   ```{code-cell} python3
   !nvidia-smi
   y = torch.ones(2, device="cuda:0")
   ```
2. and both

~~~py
x + y
~~~

```bash
x + y
```

```python
model = Model(...
```
"""


def test_fences_are_one_program_in_their_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.md").write_text(TUTORIAL)
    options = ["--isolated", "--no-cache", "--select", "DEV1", "--output-format", "concise"]

    named = CliRunner().invoke(devlint, ["check", "a.md", *options])
    included = CliRunner().invoke(devlint, ["check", ".", "--include-markdown", *options])
    folder = CliRunner().invoke(devlint, ["check", ".", *options])

    assert named.stdout == (
        "a.md:20:1: DEV101 [mixed-device-operands] `x` is on cpu and `y` on cuda:0: `+` needs both on the same device\n"
    )
    assert included.stdout == named.stdout
    assert (folder.exit_code, folder.stdout) == (0, "")


def test_fixes_change_fences_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "x.to('cuda')\n\n* so\n  ```python\n  import torch\n\n  x = torch.ones(2)\n  x.to('cuda')\n  ```\n"
    (tmp_path / "a.md").write_text(text)
    result = CliRunner().invoke(
        devlint, ["check", "a.md", "--isolated", "--no-cache", "--select", "DEV2", "--fix", "--unsafe-fixes"]
    )

    assert result.exit_code == 0, result.output
    assert (tmp_path / "a.md").read_text() == text.replace("  x.to(", "  x = x.to(")


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("text", ""),
        ("```python\nx = 1\n```", "\nx = 1\n"),
        ("````py\nx = '''\n```\n'''\n````", "\nx = '''\n```\n'''\n"),
        ("  ```python\n  x = 1\n  ```", "if 1:\n  x = 1\n"),
        ("```python title='a'\nx = 1\n```", "\nx = 1\n"),
        ("```{.python}\nx = 1\n```", "\nx = 1\n"),
        ("```{code-block} yaml\nx: 1\n```", "\n\n"),
        ("```pycon\n>>> x\n```", "\n\n"),
        ("```pytb\nx\n```", "\n\n"),
        ("```python\nx = (\n```\n```python\ny = 1\n```", "\n\n\n\ny = 1\n"),
        ("```python\nx = 1", "\n"),
        ("```\nx = 1\n```", "\n\n"),
    ],
)
def test_what_is_taken_for_python(text: str, program: str) -> None:
    assert extract(text) == program
