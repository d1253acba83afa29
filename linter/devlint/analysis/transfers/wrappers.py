"""Functions that take a function or module and give back what behaves like it: the result is what was given."""

from __future__ import annotations

from dataclasses import replace

from devlint.analysis.interpreter import calls
from devlint.analysis.libraries.transfer_tables import FUNCTIONS, MODULE_CALLS, LibraryCall, register
from devlint.domain.value import UNKNOWN, Value

CHECKPOINT_OPTIONS = frozenset("use_reentrant preserve_rng_state context_fn determinism_check debug early_stop".split())
"""Keywords of `checkpoint` that are not passed on."""


def same(site: LibraryCall) -> Value:
    """`torch.compile(module)`, `weight_norm(module)`, `nn.Identity()(value)`: the result is the argument."""
    given = site.arguments.first()
    return UNKNOWN if given is None else given.value


def checkpoint(site: LibraryCall) -> Value | None:
    """`checkpoint(function, *args)`: calls the function."""
    given = site.arguments.positional
    if not given:
        return UNKNOWN
    keywords = tuple(pair for pair in site.arguments.keywords if pair[0] not in CHECKPOINT_OPTIONS)
    arguments = replace(site.arguments, positional=given[1:], keywords=keywords)
    return calls.invoke(site.frame, site.env, given[0], arguments, site.span)


register(MODULE_CALLS, {"torch.nn.Identity": same})

register(
    FUNCTIONS,
    {
        "peft.get_peft_model": same,
        "torch.compile": same,
        "torch.compiler.disable": same,
        "torch.func.vmap": same,  # the tensors inside have one dimension less, and the same devices
        "torch.jit.script": same,
        "torch.nn.utils.parametrizations.orthogonal": same,
        "torch.nn.utils.parametrizations.spectral_norm": same,
        "torch.nn.utils.parametrizations.weight_norm": same,
        "torch.nn.utils.parametrize.register_parametrization": same,
        "torch.nn.utils.remove_spectral_norm": same,
        "torch.nn.utils.remove_weight_norm": same,
        "torch.nn.utils.spectral_norm": same,
        "torch.nn.utils.weight_norm": same,
        "torch.utils.checkpoint.checkpoint": checkpoint,
        "torch.vmap": same,
    },
)
