"""Projects whose diagnostics depend on other files, and how to change them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from devlint import engine
from devlint.cache import Cache
from devlint.cache.location import key_of
from devlint.diagnostics import Diagnostic
from devlint.inspector import Loader, Tools, load_tools
from devlint.registry import packages_of_rules
from devlint.settings import Settings

LEAF = "import torch\n\n\ndef make():\n    return torch.ones(3, device='{device}')\n"
LINK = "import torch\nfrom {module} import make as other\n\n\ndef make():\n    return other()\n"
USER = "import torch\nfrom {module} import make\n\nx = make() + torch.ones(3, device='cuda:0')\n"


@dataclass
class Runner:
    """Runs devlint in the working directory, with a cache in a folder."""

    folder: Path

    def cold(self, *paths: str) -> tuple[Diagnostic, ...]:
        """Without a cache."""
        return self._run(paths, None)

    def warm(self, *paths: str) -> tuple[Diagnostic, ...]:
        """With what earlier runs have left."""
        return self._run(paths, load_tools)

    def from_memory(self, *paths: str) -> tuple[Diagnostic, ...]:
        """Fails if anything has to be analysed."""
        return self._run(paths, _refuse)

    def _run(self, paths: tuple[str, ...], load: Loader | None) -> tuple[Diagnostic, ...]:
        settings = Settings(paths or (".",), isolated=True, jobs=1)
        cache = Cache(self.folder, partial(key_of, settings, ("devlint", *packages_of_rules())))
        run = engine.run(settings, load=load or load_tools, cache=None if load is None else cache)
        assert not run.problems
        return run.outcome.diagnostics


def _refuse() -> Tools:
    raise AssertionError("something was analysed")
