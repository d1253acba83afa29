"""What the documentation of a function says of its parameters: which are tensors, and whether they are on the host.

It counts where nothing else is said: annotations go before it.
"""

from __future__ import annotations

import re
from functools import lru_cache

_NAME = r"(?P<{0}>[A-Za-z_]\w*)"
_TYPE = r"(?::\w+:)?`?~?(?:torch\.)?(?:BFloat16|Bool|Byte|Char|Double|Float|Half|Int|Long|Short)?Tensor`?"
_MORE = r"(?:\s*,?\s*\b(?:optional|of|with|shape)\b[^\n]*?)?"

_TENSORS = re.compile(
    "|".join(
        (
            rf"^[ \t]*\**{_NAME.format('google')}\**[ \t]*\([ \t]*{_TYPE}{_MORE}[ \t]*\)[ \t]*:",
            rf"^[ \t]*{_NAME.format('numpy')}[ \t]*:[ \t]*{_TYPE}{_MORE}[ \t]*$",
            rf":param[ \t]+{_TYPE}[ \t]+{_NAME.format('sphinx')}[ \t]*:",
            rf":type[ \t]+{_NAME.format('type')}[ \t]*:[ \t]*{_TYPE}{_MORE}[ \t]*$",
        )
    ),
    re.MULTILINE,
)
"""`x (torch.Tensor, optional): …`, `x : torch.Tensor`, `:param torch.Tensor x: …` and `:type x: torch.Tensor`."""

_HOST_DATA = re.compile(r"\b(CPU|host) (arrays?|copy|copies|data|points|tensors?)\b")


@lru_cache(maxsize=10_000)
def tensors(documentation: str) -> frozenset[str]:
    """The parameters that are said to be tensors and nothing else."""
    if "Tensor" not in documentation:
        return frozenset()
    return frozenset(name for found in _TENSORS.finditer(documentation) if (name := found[found.lastgroup or 0]))


def is_about_host_data(documentation: str) -> bool:
    """Whether it speaks of tensors on the CPU, which the caller then has there."""
    return _HOST_DATA.search(documentation) is not None
