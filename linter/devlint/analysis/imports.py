"""What imports say of a file without executing what they import."""

from __future__ import annotations

import re

from devlint.project import Project, Source
from devlint.torchlib.knowledge import SETS_DEFAULT

_DEFAULT_SETTERS = ("set_default_device", "set_default_tensor_type")

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<dots>\.*)(?P<module>[\w.]*)[ \t]+import[ \t(]+(?P<member>\w*)"
    r"|import[ \t]+(?P<plain>[\w.]+))",
    re.MULTILINE,
)
"""An import, with the first name that it binds."""


def sets_default(text: str) -> bool:
    """Whether code may choose the default device."""
    return any(map(text.__contains__, _DEFAULT_SETTERS))


def is_foreign(name: str) -> bool:
    """Whether a module is never looked for in the project."""
    return name.partition(".")[0] in ("torch", "numpy", "typing")


def absolute(source: Source, module: str, level: int) -> str | None:
    """Return the absolute name of a module that a file imports, None if the dots lead out of its package."""
    if level == 0:
        return module
    if source.module is None:
        return None
    parts = source.module.split(".")
    drop = level - 1 if source.path.name == "__init__.py" else level
    if drop > len(parts):
        return None
    base = parts[: len(parts) - drop]
    return ".".join([*base, module] if module else base)


def choose_default(project: Project, source: Source) -> bool:
    """Whether a file imports a library, or a file of the project, that may choose the default device."""
    for found in _IMPORT.finditer(source.text):
        dots, module, member = found["dots"] or "", found["module"] or found["plain"] or "", found["member"]
        if not dots and module.partition(".")[0] in SETS_DEFAULT:
            return True
        base = absolute(source, module, len(dots))
        for name in () if base is None else (base, f"{base}.{member}") if member else (base,):
            imported = None if is_foreign(name) else project.find(name, source)
            if imported is not None and sets_default(imported.text):
                return True
    return False
