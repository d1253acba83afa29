"""Whether the guard finds the cause of an error: `python -m tests.guard.causes [--half 0|1] [PART OF A NAME …]`.

Each file or folder of `causes/` is a program that fails. Its first line names the values to blame, `# CAUSE` marks the
lines that cause the error, and the comment `# right: …` below one of them is the line as it has to be: with it, the
program ends well, so the marked line is a cause by PyTorch's own judgement.

The script prints the same three answers as `tests.guard.questions`.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any, Final

from tests.guard.pretended import explained
from tests.guard.questions import WAYS, Question, answer, figures, print_answer
from tests.judge import Judge

PROGRAMS: Final = Path(__file__).with_name("causes")
_NAMES: Final = "# names: "
_RIGHT: Final = "# right: "


def read_programs() -> list[Question]:
    """All programs, by name."""
    paths = sorted(PROGRAMS.iterdir())
    return [_read(path) for path in paths if path.suffix == ".py" or (path / "main.py").exists()]


def _read(path: Path) -> Question:
    folder, main = (PROGRAMS, path.name) if path.is_file() else (path, "main.py")
    files = [path] if path.is_file() else sorted(path.glob("*.py"))
    causes = [
        [file.relative_to(folder).as_posix(), number]
        for file in files
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if line.endswith("# CAUSE")
    ]
    first = (folder / main).read_text(encoding="utf-8").partition("\n")[0]
    row: dict[str, Any] = {
        "id": path.stem,
        "main": main,
        "judge": {"devices": 2, "variant": "cuda"},
        "cause_lines": causes,
        "culprit": first.removeprefix(_NAMES).split(", "),
    }
    return Question(row, folder)


def half(programs: list[Question], number: int) -> list[Question]:
    """Every second program of each kind, the first part of a name; 1 for those that were set aside."""
    kinds: dict[str, list[Question]] = {}
    for one in programs:
        kinds.setdefault(str(one.row["id"]).partition("_")[0], []).append(one)
    return [one for kind in kinds.values() for one in kind[number::2]]


def end_when_right(judge: Judge, question: Question) -> str:
    """How a program ends with its right lines."""
    main = str(question.row["main"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        names = {main} | ({one.name for one in question.folder.glob("*.py")} if question.folder != PROGRAMS else set())
        for one in names:
            text = _corrected((question.folder / one).read_text(encoding="utf-8"))
            (folder / one).write_text(text, encoding="utf-8")
        file = folder / main
        verdict = explained(judge, file.read_text(encoding="utf-8"), file=file, devices=2, way="plain").verdict
        return verdict.outcome if verdict.outcome == "ok" else f"{verdict.exception}: {verdict.message}"


def _corrected(text: str) -> str:
    lines: list[str] = []
    for line in text.splitlines():
        if line.strip().startswith(_RIGHT):
            lines[-1] = line.replace(_RIGHT, "")
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def main() -> None:
    """Prints a line for each program, and the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="parts of the names of programs")
    parser.add_argument("--half", type=int, choices=(0, 1))
    parser.add_argument("-v", action="store_true", dest="verbose", help="print the explanations too")
    options = parser.parse_args()
    programs = read_programs()
    programs = programs if options.half is None else half(programs, options.half)
    programs = [one for one in programs if not options.parts or any(x in one.row["id"] for x in options.parts)]
    with Judge() as judge:
        for one in programs:
            ended = end_when_right(judge, one)
            if ended != "ok":
                print(f"with its right lines, {one.row['id']} ends with {ended}")
        for way in WAYS:
            answers = [(one, answer(judge, one, way)) for one in programs]
            for one, said in answers:
                print_answer(way, one, said, verbose=options.verbose)
            print(figures(way, [said for _, said in answers]))


if __name__ == "__main__":
    main()
