"""The folder of results and their key: everything besides source files that decides about a result."""

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
from devlint.project import digest
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
    """Return a name for everything but source files that the results of a batch follow from.

    That is devlint itself, the rule packages, the interpreter, the options and configuration with the signature files
    they name, and the project: where it really is, and where its imports start from.
    """
    options = replace(
        settings, paths=(), jobs=None, stdin_filename=None, force_exclude=False, config=None, in_editor=False
    )
    options = replace(options, exclude=None, extend_exclude=(), diff_base=None, whole_project=False, add_ignore=None)
    options = replace(options, within=(), fix=False, diff=False, unsafe_fixes=False, baseline=None, accepting=False)
    named = [digest(path.read_bytes()) for path in batch.configuration.signatures]
    code = [state_of(package) for package in packages]
    everything = (devlint.__version__, sys.version, options, named, code, _identity(batch))
    return digest(repr(everything).encode())


def _identity(batch: Batch) -> object:
    """The project of a batch and its configuration, the same for each path that leads to it; and whether it is built.

    Folders are named as the project's root sees them. Where one is outside, the path by which the root was reached
    counts as well.
    """
    configuration = batch.configuration
    project = batch.project()
    folders = {**dict(configuration.inherited), "root": configuration.root}
    named = sorted((key, project.name_of(folder)) for key, folder in folders.items())
    starts = tuple(map(project.name_of, project.import_roots))
    leads_out = any(name.startswith("..") or os.path.isabs(name) for name in (*dict(named).values(), *starts))
    plain = replace(configuration, file=None, root=Path(), src=(), signatures=(), baseline=None, notes=())
    return (
        os.path.realpath(batch.root),
        str(batch.root) if leads_out else "",
        named,
        starts,
        replace(plain, inherited=()),
        project.is_distribution,
        bool(batch.alone),
    )


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
