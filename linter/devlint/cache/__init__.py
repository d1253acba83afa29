"""Results of earlier runs, kept in the user's cache folder.

A result holds as long as the file, and everything that its analysis has read, are unchanged: content, not time stamps,
decides. `location` says where and under which key, `results` what still holds, `codec` how it is written, and `storage`
writes it. `rules` keeps what the installed rules declare, and `pages` their documentation.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

from devlint.cache.location import cache_folder, key_of
from devlint.cache.results import Cache, NoCache
from devlint.inspector import Tools, tools
from devlint.registry import packages_of_rules
from devlint.settings import Settings

__all__ = ["Cache", "NoCache", "load_tools", "page_in_cache", "remarks_on_rules", "user_cache"]


def user_cache(settings: Settings) -> Cache:
    """Return the user's cache for runs under these settings."""
    key = partial(key_of, settings, ("devlint", *packages_of_rules()))
    return Cache(_folder(), key)


def load_tools() -> Tools:
    """Load what `inspector.load_tools` does, but the rules only when they have to look at a file.

    Raises:
        RuleError: a rule package does not keep its contract.
    """
    from devlint.cache.rules import declarations

    return tools(declarations(_folder()))


def remarks_on_rules() -> list[str]:
    """Return a sentence for each rule of another package whose documentation is incomplete.

    Raises:
        RuleError: a rule package does not keep its contract.
    """
    from devlint.cache.rules import remarks

    return remarks(_folder())


def page_in_cache(code: str, text: str) -> str | None:
    """Return the address of a file in the cache with the documentation of a rule; None if it cannot be written."""
    from devlint.cache.pages import page_file

    return page_file(_folder(), code, text)


def _folder() -> Path:
    return cache_folder(os.environ, sys.platform)
