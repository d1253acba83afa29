"""The torch that the guard needs, looked for before any other module of the guard is imported."""

from __future__ import annotations

import re
from typing import Final

LOWEST: Final = (2, 6)
"""The lowest release of torch that the guard's tests run with.

From this release on, Dynamo compares `nn.Module.__call__` with a name that it keeps (`unpatched_nn_module_call` in
`torch/_dynamo/utils.py`), so that compiled modules stay compiled when a guard begins or ends.
"""


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
        text = f"{needed}, but torch is not installed: pip install 'devlint[guard]'"
        raise ModuleNotFoundError(text, name="torch") from None
    if _release(found) < LOWEST:
        raise ImportError(f"{needed}, but torch {found} is installed: pip install -U 'devlint[guard]'", name="torch")


def _release(version: str) -> tuple[int, int]:
    """Return the first two numbers of a version; a version that PyTorch does not write so is taken for a new one."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return LOWEST if numbers is None else (int(numbers[1]), int(numbers[2]))
