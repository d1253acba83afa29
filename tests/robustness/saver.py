"""An editor in a process of its own, which saves files at the worst moment: while devlint is about to replace them.

`python saver.py FOLDER MANNER FILES` waits until a temporary file appears in the folder and then saves the first file
that nobody has changed yet. It prints the names of the files that it has saved, and ends when none is left.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping

MARK = b"# saved by the editor\n"


def in_place(name: str, data: bytes) -> None:
    """As nano and VS Code save: the file is emptied and written."""
    with open(name, "wb") as file:
        file.write(data)


def late(name: str, data: bytes) -> None:
    """As GLib saves: the file is opened, and emptied and written a little later."""
    with open(name, "r+b") as file:
        time.sleep(0.002)
        file.truncate()
        file.write(data)


def by_rename(name: str, data: bytes) -> None:
    """As vim and Emacs save: a new file takes the name."""
    with open(f"{name}~", "wb") as file:
        file.write(data)
    os.replace(f"{name}~", name)


MANNERS: Mapping[str, Callable[[str, bytes], None]] = {"in-place": in_place, "late": late, "by-rename": by_rename}


def main(folder: str, manner: str, count: int) -> None:
    """Saves until no file is left as it was at the start, or nothing happens for long."""
    os.chdir(folder)
    names = [f"m{number:02}.py" for number in range(count)]
    with open(names[0], "rb") as file:
        original = file.read()
    print("ready", flush=True)
    seen: set[str] = set()
    end = time.monotonic() + 60
    while names and time.monotonic() < end:
        temporary = {name for name in os.listdir() if name[0] == "."}
        if temporary <= seen:
            continue
        seen |= temporary
        while names:
            name = names.pop(0)
            with open(name, "rb") as file:
                is_original = file.read() == original
            if is_original:
                MANNERS[manner](name, original + MARK)
                print(name, flush=True)
                break


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
