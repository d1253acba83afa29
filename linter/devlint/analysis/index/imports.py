"""Reads the imports of a file, and executes none of the imported files."""

from __future__ import annotations

import re

from devlint.analysis.index.loops import instructions_of
from devlint.definitions import is_foreign
from devlint.frontend import ir
from devlint.importers import absolute_name
from devlint.project import Project, Source
from devlint.torchlib.knowledge import SETS_DEFAULT

SETS_DEVICE, SETS_TYPE = "set_default_device", "set_default_tensor_type"
"""The functions of torch that choose where tensors are created that are not told, the second also their type."""

_SETS_DEFAULT = re.compile(f"{SETS_DEVICE}|{SETS_TYPE}")
"""Code that may choose the default device."""


def choose_default(project: Project, source: Source, body: ir.Block) -> bool:
    """Whether the top level of a file imports a library, or a file of the project, that may choose the default device.

    Args:
        project: where files are looked for.
        source: the file.
        body: its instructions.
    """
    for item in instructions_of(body, into_loops=True):
        if not isinstance(item, (ir.Import, ir.ImportFrom)):
            continue
        level = item.level if isinstance(item, ir.ImportFrom) else 0
        if not level and item.module.partition(".")[0] in SETS_DEFAULT:
            return True
        base = absolute_name(source, item.module, level)
        if base is None:
            continue
        for name in (base, f"{base}.{item.member}") if isinstance(item, ir.ImportFrom) else (base,):
            imported = None if is_foreign(name) else project.find(name, source)
            if imported is not None and project.says(imported, _SETS_DEFAULT):
                return True
    return False
