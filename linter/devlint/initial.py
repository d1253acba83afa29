"""The files of `devlint init`: a first configuration, and a baseline with the current reports."""

from __future__ import annotations

import os
from pathlib import Path

from devlint.acceptance import Acceptance, accept
from devlint.baseline import DEFAULT_NAME
from devlint.configuration import NAMES, OWN_NAMES, read_configuration
from devlint.errors import ConfigError, OutputError
from devlint.project import display_path, territory_of
from devlint.reading import LARGEST_SETTINGS, read_file
from devlint.settings import Settings
from devlint.writing import change_file, create_file

_TEST_FOLDERS = ("tests", "test")
_ABOUT_ONE_MACHINE = '["DEV301", "DEV302"]'


def initialise(folder: Path, settings: Settings) -> tuple[Path, Acceptance]:
    """Configure devlint for a folder, in its `pyproject.toml` if it has one, and record the current reports.

    Returns:
        The file that was written or added to, and what became of the baseline.

    Raises:
        ConfigError: devlint is configured already, or there is a baseline; then no file is written.
        DevlintError: nothing can be analysed, or a file cannot be written; then neither file is.
    """
    for name in NAMES:
        file = folder / name
        territory = territory_of(file)
        if os.path.lexists(file) and read_configuration(file, display_path(file), territory) is not None:
            raise ConfigError("configures devlint already; nothing was written", path=display_path(file))
    if (folder / DEFAULT_NAME).exists():
        raise ConfigError("is there already; nothing was written", path=display_path(folder / DEFAULT_NAME))
    done = accept(settings, prune=False)
    project, own = folder / "pyproject.toml", folder / OWN_NAMES[-1]
    try:
        if project.exists():
            _append(project, _table(folder, "tool.devlint"))
            return project, done
        create_file(own, _table(folder, "").encode())
    except OutputError:
        (folder / DEFAULT_NAME).unlink(missing_ok=True)
        raise
    return own, done


def _table(folder: Path, prefix: str) -> str:
    """Return the configuration as TOML, in a table of that name or, without one, at the top."""
    lines = [f"[{prefix}]"] if prefix else []
    lines.append(f'baseline = "{DEFAULT_NAME}"')
    tests = [name for name in _TEST_FOLDERS if (folder / name).is_dir()]
    if tests:
        lines += ["", f"[{prefix}.per-file-ignores]" if prefix else "[per-file-ignores]"]
        lines += [f'"{name}/**" = {_ABOUT_ONE_MACHINE} # tests know their machine' for name in tests]
    return "\n".join(lines) + "\n"


def _append(file: Path, text: str) -> None:
    """Add text to the end of a file, with the line ends that it has."""
    try:
        data = read_file(file, LARGEST_SETTINGS)
    except OSError as error:
        raise OutputError(f"cannot be read: {error.strerror or error}", path=display_path(file)) from error
    end = b"\r\n" if b"\r\n" in data else b"\n"
    before = data if not data or data.endswith(b"\n") else data + end
    after = before + (end if before else b"") + text.encode().replace(b"\n", end)
    change_file(file.resolve(), data, after)
