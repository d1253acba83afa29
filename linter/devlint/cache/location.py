"""Where results are kept, and under which key: whatever else decides what a file's results are."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import devlint
from devlint.inspector import Batch
from devlint.project import digest, display_path
from devlint.settings import Settings

VARIABLE = "DEVLINT_CACHE_DIR"
"""The environment variable that names another folder."""


def cache_folder(environ: Mapping[str, str], platform: str) -> Path:
    """Return the folder for devlint's files in the user's cache; it need not exist."""
    if environ.get(VARIABLE):
        return Path(environ[VARIABLE])
    if platform == "win32":
        base = Path(environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "devlint"


def key_of(settings: Settings, packages: Iterable[str], batch: Batch) -> str:
    """A name for everything but source files that the results of a batch follow from.

    That is devlint itself, the rule packages, the interpreter, the options and configuration with the signature files
    and recorded runs they name, and how paths are shown.
    """
    options = replace(settings, paths=(), jobs=None, stdin_filename=None, force_exclude=False, config=None)
    options = replace(options, fix=False, unsafe_fixes=False, baseline=None, accepting=False)
    named = [digest(path.read_bytes()) for path in (*batch.configuration.signatures, *batch.configuration.observed)]
    code = [state_of(package) for package in packages]
    where = (str(batch.root), display_path(batch.root), os.path.isdir(batch.root / "src"))
    everything = (devlint.__version__, sys.version, where, options, batch.configuration, named, code)
    return digest(repr(everything).encode())


@cache
def state_of(package: str) -> str:
    """Return a name for the state of a package's source files: their sizes and times, which an installation sets."""
    try:
        found = importlib.util.find_spec(package)
    except ImportError:
        return ""
    if found is None:
        return ""
    folders = found.submodule_search_locations
    if folders is None:  # one file
        return digest(Path(found.origin or "").read_bytes()) if found.has_location else ""
    return digest(repr(sorted(entry for folder in folders for entry in _files(folder))).encode())


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            if entry.name != "__pycache__":
                yield from _files(entry.path)
        elif entry.name.endswith((".py", ".pyi")):
            status = entry.stat()
            yield entry.path, status.st_size, status.st_mtime_ns
