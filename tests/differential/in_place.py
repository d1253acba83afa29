"""`python -m tests.differential.in_place N SEED`: the summary of a function says what the execution of its body says.

A call that hands over an object executes the body with the caller's objects. So each function of N random programs gets
one more parameter, and each of its calls an empty list for it: the reports must stay the same. A function that calls
itself gets none, because a body that is being executed is not executed again.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import re
import sys
from collections import Counter
from collections.abc import Iterator

from tests.differential.definitions import generate
from tests.differential.order import Reports, changes, reports

OBJECT = "an_object"
"""The parameter that the functions get."""

_MENTIONED = re.compile(rf"(, |\*, )*{OBJECT}=(\[\]|None)")


def handing_over_objects(text: str) -> str | None:
    """Return a program whose calls of functions hand over a list more; None if it has no such call."""
    tree = ast.parse(text)
    names = _functions(tree)
    is_called = False
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            node.keywords.append(ast.keyword(OBJECT, ast.List([], ast.Load())))
            is_called = True
        elif isinstance(node, ast.FunctionDef) and node in tree.body and node.name in names:
            node.args.kwonlyargs.append(ast.arg(OBJECT))
            node.args.kw_defaults.append(ast.Constant(None))
    return ast.unparse(ast.fix_missing_locations(tree)) if is_called else None


def _functions(tree: ast.Module) -> set[str]:
    """The functions of the file that no other statement binds and that do not lead back to themselves."""
    defined = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    mentioned = {name: _mentions(node) & defined.keys() for name, node in defined.items()}
    reached = {name: set(others) for name, others in mentioned.items()}
    for _ in defined:
        for others in reached.values():
            others.update(*(reached[other] for other in tuple(others)))
    return {name for name in defined if name not in bound and name not in reached[name]}


def _mentions(function: ast.FunctionDef) -> set[str]:
    return {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}


def places(found: Reports) -> Counter[tuple[str, str, str]]:
    """Return code, certainty and line of reports, the line without the lists; messages name values in other words."""
    plain: Counter[tuple[str, str, str]] = Counter()
    for (code, _, certainty, line), count in found.items():
        plain[code, certainty, _MENTIONED.sub("", line)] += count
    return plain


def differences(count: int, seed: int) -> Iterator[str]:
    """Yield a description of each of so many programs with calls for which the execution of a body says otherwise."""
    programs = (generate(seed, number) for number in itertools.count())
    callers = ((program, changed) for program in programs if (changed := handing_over_objects(program.text)))
    for program, changed in itertools.islice(callers, count):
        text = ast.unparse(ast.parse(program.text))
        summarised, executed = places(reports(text)), places(reports(changed))
        if summarised != executed:
            yield f"program {program.name}:\n{changes(summarised, executed)}\n{text}"


def main() -> int:
    """Return 1 if the execution of a body says something else than its summary."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.in_place", description=__doc__)
    parser.add_argument("programs", type=int, metavar="N")
    parser.add_argument("seed", type=int, nargs="?", default=0, metavar="SEED")
    options = parser.parse_args()
    found = list(differences(options.programs, options.seed))
    print("\n\n".join(found))
    print(f"{options.programs} programs, {len(found)} whose summaries and executions differ")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
