"""Programs that fail, with the cause of the error, which the guard has to find.

Each file or folder of `causes/` is a program that fails. Its first line names the values to blame, `# CAUSE` marks the
lines that cause the error, and the comment `# right: …` below one of them is the line as it has to be: with it, the
program ends well, so the marked line is a cause by PyTorch's own judgement.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Final

from tests.guard.pretended import explained
from tests.guard.questions import Question
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
