"""Small programs to fix, and what the fixes of one rule make of them."""

from __future__ import annotations

from devlint import engine
from devlint.settings import Settings

NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
{stores}

    def forward(self, x):
        {uses}
"""


def net(stores: str, uses: str) -> str:
    """A module with the given lines in `__init__` and in `forward`."""
    return NET.format(stores="\n".join(f"        {line}" for line in stores.split("\n")), uses=uses)


def fixed(text: str, code: str, *, unsafe: bool = False) -> str:
    """The text after all fixes of one rule; each fix has to help."""
    settings = Settings(("-",), select=(code,), isolated=True, fix=True, unsafe_fixes=unsafe)
    run = engine.run(settings, stdin=text.encode())
    assert run.warnings == ()
    return next((change.after.decode() for change in run.changes), text)
