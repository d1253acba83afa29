"""DistributedDataParallel and FSDP2 under a guard, on two ranks with gloo."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.conftest import REPOSITORY, since  # noqa: E402

PROGRAM = Path(__file__).with_name("distributed_program.py")


@since(2, 6)  # it has `fully_shard` in `torch.distributed.fsdp`
def test_a_guard_changes_nothing() -> None:
    if not (torch.distributed.is_available() and torch.distributed.is_gloo_available()):
        pytest.skip("this build of torch has no gloo")
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(PROGRAM)]
    paths = os.pathsep.join(entry for entry in (str(REPOSITORY / "runtime_guard"), *sys.path) if entry)
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(launcher, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
