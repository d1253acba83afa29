"""The torch that the guard needs, looked for before any other module of the guard is imported."""

from __future__ import annotations

import re
from typing import Final

LOWEST: Final = (2, 4)
"""The lowest release of torch that the guard supports; `python -m tests.guard.matrix` runs the tests with others."""

FULL: Final = (2, 11)
"""The lowest release in which a guard looks on beside compiled code; in those before it ends there.

They lack what that stands on: 2.5 the name by which Dynamo knows `nn.Module.__call__` (`unpatched_nn_module_call`), 2.7
`set_code_exec_strategy`, by which Dynamo passes over the mode, and 2.8 `ignore_compile_internals`, which compilation
under an active mode needs.
"""

_PACKAGE: Final = f"'torch>={LOWEST[0]}.{LOWEST[1]}'"


def require_torch() -> None:
    """Check that torch can be imported and is not too old.

    Raises:
        ImportError: one sentence with the version that was found and the lowest one; its `name` is "torch".
    """
    needed = f"the runtime guard needs torch {LOWEST[0]}.{LOWEST[1]} or newer"
    try:
        from torch import __version__ as found
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        text = f"{needed}, but torch is not installed: pip install {_PACKAGE}"
        raise ModuleNotFoundError(text, name="torch") from None
    if _release(found) < LOWEST:
        raise ImportError(f"{needed}, but torch {found} is installed: pip install -U {_PACKAGE}", name="torch")


def is_full() -> bool:
    """Return whether the installed torch is of `FULL` or newer."""
    from torch import __version__ as found

    return _release(found) >= FULL


def _release(version: str) -> tuple[int, int]:
    """Return the first two numbers of a version; a version that PyTorch does not write so is taken for a new one."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return FULL if numbers is None else (int(numbers[1]), int(numbers[2]))
