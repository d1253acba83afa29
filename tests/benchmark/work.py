"""`python -m tests.benchmark.work FOLDER …`: how often devlint executes each function body, and each instruction.

The folder is checked in one process without a cache. A body counts if it is executed at all, an instruction if its file
is loaded.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from devlint import engine
from devlint.analysis import files
from devlint.analysis.execution.frame import Frame
from devlint.analysis.execution.steps import Steps
from devlint.analysis.interpreter import statements
from devlint.domain.body import Body
from devlint.domain.environment import Environment
from devlint.frontend import ir
from devlint.frontend.lower import lower
from devlint.settings import Settings


class Work:
    """What the analysis has executed while `counted` was entered.

    Attributes:
        bodies: how often each function body was executed.
        instructions: how many instructions each loaded file has.
        interpreted: how many instructions were executed.
    """

    def __init__(self) -> None:
        self.bodies: Counter[Body] = Counter()
        self.instructions: dict[str, int] = {}
        self.interpreted = 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count until the block ends."""
        execute, take = statements.execute, Steps.take

        def count_body(frame: Frame, block: ir.Block, env: Environment) -> Environment | None:
            if isinstance(frame.scope, ir.Function) and block is frame.scope.body:
                self.bodies[frame.body] += 1
            return execute(frame, block, env)

        def count_block(steps: Steps, count: int) -> None:
            self.interpreted += count
            take(steps, count)

        def count_file(text: str, name: str) -> ir.File:
            file = lower(text, name)
            self.instructions[name] = instructions_in(file)
            return file

        with (
            patch.object(statements, "execute", count_body),
            patch.object(Steps, "take", count_block),
            patch.object(files, "lower", count_file),
        ):
            yield

    def rows(self) -> list[tuple[str, int, int, float]]:
        """The counted bodies and instructions: name, number, how often devlint executed them, and the ratio."""
        executions, bodies = sum(self.bodies.values()), len(self.bodies)
        there = sum(self.instructions.values())
        return [
            ("function bodies", bodies, executions, executions / max(bodies, 1)),
            ("instructions", there, self.interpreted, self.interpreted / max(there, 1)),
        ]


def instructions_in(part: object) -> int:
    """The number of instructions in a part of the intermediate representation, with inner functions and classes."""
    if isinstance(part, ir.Scope):
        return instructions_in(part.body)
    if not isinstance(part, tuple):
        return 0
    return (type(part) in statements.TRANSFERS) + sum(map(instructions_in, part))


def main(folders: list[str]) -> int:
    """Print a table for each folder."""
    if not folders:
        print(__doc__, file=sys.stderr)
        return 2
    for folder in folders:
        work = Work()
        with work.counted():
            engine.run(Settings((folder,), jobs=1, isolated=True))
        print(f"\n{Path(folder).name}\n\n| | there are | executed | ratio |\n| --- | ---: | ---: | ---: |")
        for name, there, executed, ratio in work.rows():
            print(f"| {name} | {there:,} | {executed:,} | {ratio:.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
