"""Results of earlier runs, kept in the user's cache folder.

A result holds as long as the file and everything that its analysis has read are what they were: content, not time
stamps, decides. `location` says where and under which key, `results` what still holds, `codec` how it is written.
"""

from __future__ import annotations

import os
import sys
from functools import partial

from devlint.cache.location import cache_folder, key_of
from devlint.cache.results import Cache, NoCache
from devlint.registry import packages_of_rules
from devlint.settings import Settings

__all__ = ["Cache", "NoCache", "user_cache"]


def user_cache(settings: Settings) -> Cache:
    """Return the user's cache for runs under these settings."""
    key = partial(key_of, settings, ("devlint", *packages_of_rules()))
    return Cache(cache_folder(os.environ, sys.platform), key)
