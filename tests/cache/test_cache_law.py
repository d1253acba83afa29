"""The law: after any edits to any project, a warm run reports what a cold run does."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cache.projects import LEAF, LINK, USER, Runner

NAMES = ("a", "b", "c", "d")

_modules = st.sampled_from(NAMES)
_content = st.one_of(
    st.none(),
    st.sampled_from([LEAF.format(device="cpu"), LEAF.format(device="cuda:0"), "x = 1\n", "import torch\nx = (\n"]),
    _modules.map(lambda module: LINK.format(module=module)),
    _modules.map(lambda module: USER.format(module=module)),
)
_files = st.sampled_from([*(f"{name}.py" for name in NAMES), "a/__init__.py", "src/b.py"])
_step = st.one_of(
    st.tuples(_files, _content),
    st.lists(_modules.map(lambda name: f"{name}.py"), max_size=2, unique=True).map(tuple),
)


@given(steps=st.lists(_step, min_size=2, max_size=8))
@settings(max_examples=10, deadline=None)
def test_warm_is_cold(steps: list[tuple[str, ...]]) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        project = Path(folder, "project")
        project.mkdir()
        (project / "pyproject.toml").write_text("")
        patch.chdir(project)
        runner = Runner(Path(folder, "cache"))
        for step in steps:
            if len(step) == 2 and (step[1] is None or "\n" in step[1]):
                _edit(step[0], step[1])
                continue
            here = [name for name in step if Path(name).exists()]
            assert runner.warm(*here) == runner.cold(*here)
        assert runner.warm() == runner.cold()
        assert runner.from_memory() == runner.cold()


def _edit(name: str, content: str | None) -> None:
    path = Path(name)
    if content is None:
        path.unlink(missing_ok=True)
        return
    os.makedirs(path.parent, exist_ok=True)
    path.write_text(content)
