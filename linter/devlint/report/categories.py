"""The categories of rules, by the first digit of their codes, for readers that group reports."""

from __future__ import annotations

import re
from typing import Final

_BY_DIGIT: Final = {
    "1": "correctness",
    "2": "correctness",
    "3": "portability",
    "4": "correctness",
    "5": "performance",
    "7": "portability",
    "9": "maintenance",
}

_OF_CODE_QUALITY: Final = {
    "correctness": "Bug Risk",
    "portability": "Compatibility",
    "performance": "Performance",
    "maintenance": "Clarity",
}


def category_of(code: str) -> str:
    """Return the category of a rule; the rules of other packages are about correctness."""
    own = re.fullmatch(r"DEV(\d)\d\d", code)
    return _BY_DIGIT.get(own[1], "correctness") if own is not None else "correctness"


def code_quality_category(code: str) -> str:
    """Return the category of a rule in the words of Code Quality reports."""
    return _OF_CODE_QUALITY[category_of(code)]
