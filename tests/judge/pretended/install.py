"""Turns the running process into one with pretended CUDA devices; there is no way back."""

from __future__ import annotations

import os

from tests.judge.pretended.device_guard import install_device_guard
from tests.judge.pretended.dispatch import register_kernels
from tests.judge.pretended.distributed import install_distributed
from tests.judge.pretended.legacy_types import install_legacy_types
from tests.judge.pretended.machine import after_fork_in_child, set_machine
from tests.judge.pretended.python_api import install_python_api
from tests.judge.pretended.storage import install_pinning, install_storage


def install(devices: int) -> None:
    """Installs everything, for a machine that `set_machine` can still exchange in each fork.

    Raises:
        RuntimeError: the installed torch is not the release that this is written for.
    """
    # optimizers import it, and it must find torch._C as it is
    import torch._dynamo  # noqa: F401

    set_machine(devices)
    install_device_guard()
    register_kernels()
    install_python_api()
    install_legacy_types()
    install_pinning()
    install_storage()
    install_distributed()
    os.register_at_fork(after_in_child=after_fork_in_child)
