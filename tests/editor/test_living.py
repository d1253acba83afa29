"""The analysis of documents keeps what does not rest on an edit, and finds what an analysis that begins anew finds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

pytest.importorskip("lsprotocol", reason="pygls is not installed")

from devlint.analysis.program import Program
from devlint.editor.jobs import Findings, Job
from devlint.editor.living import Living
from devlint.project import Source
from devlint.settings import Settings

from tests.conftest import REPOSITORY
from tests.editor.edits import edit

LIB = "import torch\n\n\ndef make():\n    return torch.ones(3)\n"
BETWEEN = "from lib import make as made\n"
TRAIN = "import torch\nfrom between import made\n\nx = made() + torch.ones(3, device='cuda:0')\n"
OTHER = "import torch\nimport train\n\ny = train.x * 2\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in the working directory."""
    monkeypatch.chdir(tmp_path)
    configuration = "[tool.devlint]\nselect = ['DEV101']\n"
    files = {
        "pyproject.toml": configuration,
        "lib.py": LIB,
        "between.py": BETWEEN,
        "train.py": TRAIN,
        "other.py": OTHER,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


class Author:
    """Edits documents, and counts which files are executed for their analyses."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.texts: dict[str, str] = {}
        self.executed: list[str] = []
        self.settings = Settings((), in_editor=True)
        self._living = Living()
        load = Program._load

        def counting(program: Program, source: Source) -> object:
            loaded = load(program, source)
            self.executed.append(source.display)
            return loaded

        monkeypatch.setattr(Program, "_load", counting)

    def analyse(self, name: str, **changes: str | None) -> list[str]:
        """Analyse a document, and return the codes; changes: documents with their new texts, None to close one."""
        for changed, text in changes.items():
            self.texts.pop(f"{changed}.py", None)
            if text is not None:
                self.texts[f"{changed}.py"] = text
        self.executed.clear()
        self.findings = self._found(name)
        return [one.code for one in self.findings.result.diagnostics]

    def _found(self, name: str) -> Findings:
        contents: Mapping[Path, bytes] = {self.folder / each: text.encode() for each, text in self.texts.items()}
        found = self._living.answer(Job(self.folder / f"{name}.py", self.settings, contents, None))
        assert found is not None
        return found


@pytest.fixture
def author(project: Path, monkeypatch: pytest.MonkeyPatch) -> Author:
    """An author with an open `train.py`."""
    author = Author(project, monkeypatch)
    assert author.analyse("train", train=TRAIN) == ["DEV101"]
    assert sorted(author.executed) == ["between.py", "lib.py", "train.py"]
    return author


def test_an_edit_executes_the_document_and_the_files_that_import_it(author: Author) -> None:
    assert author.analyse("train", train=TRAIN + "z = 3\n") == ["DEV101"]
    assert author.executed == ["train.py"]
    assert author.analyse("other", other=OTHER) == []
    assert author.executed == ["other.py"]
    assert author.analyse("other", train=TRAIN.replace("cuda:0", "cpu")) == []
    assert sorted(author.executed) == ["other.py", "train.py"]


def test_an_edit_of_an_import_executes_it_and_what_imports_it(author: Author) -> None:
    there = LIB.replace("ones(3)", "ones(3, device='cuda:0')")
    assert author.analyse("train", lib=there) == []
    assert sorted(author.executed) == ["between.py", "lib.py", "train.py"]
    assert author.analyse("train", lib=None) == ["DEV101"]  # closed unsaved


def test_a_text_that_is_not_python_changes_nothing(author: Author) -> None:
    assert author.analyse("train", train=TRAIN + "z = (\n") == ["DEV901"]
    assert author.executed == []
    assert author.analyse("train", train=TRAIN + "z = 4\n") == ["DEV101"]
    assert author.executed == ["train.py"]


def _save(folder: Path) -> None:
    (folder / "lib.py").write_text(LIB.replace("ones(3)", "ones(3, device='cuda:0')"))


def _add(folder: Path) -> None:
    (folder / "between").mkdir()  # Python prefers a package
    (folder / "between" / "__init__.py").write_text("from lib import make\n\n\ndef made():\n    return make().cuda()\n")


def _configure(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.devlint]\nselect = ['DEV102']\n")


@pytest.mark.parametrize("change", [_save, _add, _configure], ids=["saved", "added", "configured"])
def test_files_on_the_disk_may_change(author: Author, change: Callable[[Path], None]) -> None:
    change(author.folder)
    assert "DEV101" not in author.analyse("train", train=TRAIN + "z = 5\n")


def test_the_answers_of_the_project_may_change(author: Author) -> None:
    """A file beside `train.py` chooses the default device."""
    program = "import torch\n\n\ndef use():\n    return torch.ones(3) + torch.ones(3, device='cuda:0')\n"
    assert author.analyse("train", train=program) == ["DEV101"]
    main = "import torch\nimport train\n\ntorch.set_default_device('cuda:0')\n"
    (author.folder / "main.py").write_text(main)
    assert author.analyse("train", train=program + "z = 6\n") == []
    assert author.analyse("train", main=main.replace("torch.set", "print")) == ["DEV101"]
    assert author.analyse("train", main=main) == []


@pytest.mark.parametrize("name", ["projects", "showcase", "libraries"])
def test_the_law_of_documents(name: str) -> None:
    documents = edit(REPOSITORY / "fixtures" / name, 25, 7)
    assert documents.learned.count(False) > 5
