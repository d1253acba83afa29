"""The inference compiled by mypyc: the tests of this folder pass with the compiled package as well.

`python -m tests.inference.compiled` compiles `devlint.inference` without optimization into a temporary folder. It then
runs `TESTS` in this process, with each module of the package taken from there. Compiled code checks the declared type
of each variable, so it shows an error that neither mypy nor Python shows.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import REPOSITORY

PACKAGE = REPOSITORY / "linter" / "devlint" / "inference"
TESTS = ("test_fixtures.py", "test_values.py")


class Compiled(MetaPathFinder, Loader):
    """Takes modules from a library that mypyc has made; it needs no file for each of them.

    Args:
        library: the imported library.
        sources: the source files of its modules, by name.
    """

    def __init__(self, library: ModuleType, sources: dict[str, Path]) -> None:
        self._library = library
        self._sources = sources

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        file = self._sources.get(fullname)
        if file is None:
            return None
        folders = [str(file.parent)] if file.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(fullname, file, loader=self, submodule_search_locations=folders)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        name = "init_" + spec.name.replace(".", "___")
        address = ctypes.pythonapi.PyCapsule_GetPointer
        address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        start = address(getattr(self._library, name), f"{self._library.__name__}.{name}".encode())
        made = ctypes.PYFUNCTYPE(ctypes.py_object)(start)()
        assert isinstance(made, ModuleType)
        return made

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: `create_module` has executed the module."""


def compile_package(folder: Path, level: str = "0") -> Compiled:
    """Compile the package into a folder.

    Raises:
        SystemExit: mypyc refuses the package.
        CalledProcessError: the C compiler refuses the code.
    """
    from mypyc.build import mypycify

    root = PACKAGE.parent.parent
    files = sorted(PACKAGE.rglob("*.py"))
    os.chdir(root)
    options = ["--config-file=", f"--cache-dir={folder / 'types'}"]
    paths = [str(file.relative_to(root)) for file in files]
    library = mypycify([*options, *paths], opt_level=level, debug_level="0", target_dir=str(folder))[0]
    os.chdir(REPOSITORY)
    place = folder / f"{library.name}.so"
    command = [*shlex.split(sysconfig.get_config_var("CC") or "cc"), "-shared", "-fPIC", f"-O{level}", "-w"]
    command += [f"-I{include}" for include in (*library.include_dirs, sysconfig.get_path("include"))]
    subprocess.run([*command, *library.sources, "-o", str(place)], check=True)
    spec = importlib.util.spec_from_file_location(library.name, place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    names = {".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): file for file in files}
    return Compiled(module, names)


def main() -> int:
    """Compile the package, and run the tests with it."""
    with tempfile.TemporaryDirectory() as folder:
        sys.meta_path.insert(0, compile_package(Path(folder)))
        from devlint.inference.solve import Solver

        assert not hasattr(Solver.check, "__code__"), "the tests do not run the compiled package"
        tests = [str(Path(__file__).parent / name) for name in TESTS]
        return int(pytest.main(["-n", "0", "-q", "-p", "no:cacheprovider", *tests]))


if __name__ == "__main__":
    sys.exit(main())
