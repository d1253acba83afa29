"""Files that devlint writes: whole or not at all, and never over a change that somebody else has made meanwhile."""

from devlint.writing.files import change_file, create_file, replace_file, require_changeable
from devlint.writing.temporary import remove_leftovers

__all__ = ["change_file", "create_file", "remove_leftovers", "replace_file", "require_changeable"]
