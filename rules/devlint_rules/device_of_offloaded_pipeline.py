"""device-of-offloaded-pipeline: a tensor moves to `pipe.device`, which offloading changes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import libcst as cst
from devlint.diagnostics import Certainty, Severity
from devlint.rule import Rule
from devlint.syntax import Syntax

from devlint_rules.support.messages import quoted

_DEVICE, _EXECUTION_DEVICE = "device", "_execution_device"

_BASE = "DiffusionPipeline"
"""The base class of all pipelines of diffusers."""

_FILE = re.compile(r"(^|\.)(pipeline_\w+|diffusers)(\.|$)")
"""What pipelines are imported from: diffusers, or a file that is named as its files are."""

_QUALIFIED = re.compile(r"\bdiffusers\.(\w+\.)*\w*Pipeline\b")
"""A pipeline by its full name."""

_PLACING = re.compile(r"device|_execution_device|to|__init__|\w*(offload|hook)\w*")
"""Functions of a pipeline that are about where it is."""

_READING = frozenset("print str repr format isinstance type hasattr getattr info warning warn debug error".split())
"""Functions that put nothing on the device that they are given."""


class DeviceOfOffloadedPipeline(Rule):
    """
    ## What it does
    Reports a tensor that moves to `self.device` of a diffusers pipeline, or to `pipe.device` of an argument that is
    annotated as a pipeline: `x.to(self.device)`, `torch.ones(3, device=pipe.device)`, `device = device or self.device`.
    The rule is opt-in.

    ## Why is this bad
    `device` is the current device of the pipeline's components. After `enable_model_cpu_offload()` they wait on the
    CPU, after `enable_sequential_cpu_offload()` on the meta device. They visit the accelerator only to compute. That
    device is `_execution_device`, which equals `device` in a pipeline without offloading.

    ## Example

        import torch

        class DiffusionPipeline:  # like a diffusers pipeline after `enable_model_cpu_offload()`
            device = torch.device("cpu")
            _execution_device = torch.device("cuda:0")

        class Upscaler(DiffusionPipeline):
            def add_noise(self, image: torch.Tensor, strength: float) -> torch.Tensor:
                noise = torch.ones(3, device=self.device)  # error: [device-of-offloaded-pipeline] "self.device" later
                return image.to(self._execution_device) + strength * noise

        Upscaler().add_noise(torch.ones(3), 0.5)

    ## Use instead

        import torch

        class DiffusionPipeline:  # like a diffusers pipeline after `enable_model_cpu_offload()`
            device = torch.device("cpu")
            _execution_device = torch.device("cuda:0")

        class Upscaler(DiffusionPipeline):
            def add_noise(self, image: torch.Tensor, strength: float) -> torch.Tensor:
                noise = torch.ones(3, device=self._execution_device)
                return image.to(self._execution_device) + strength * noise

        Upscaler().add_noise(torch.ones(3), 0.5)

    ## Fix safety
    No fix is offered: `_execution_device` exists in pipelines only, and devlint goes by the name of the class.

    ## Known limits
    devlint goes by names: a class is a pipeline if the name of a base class from diffusers contains "Pipeline", or if
    the class uses `_execution_device`. devlint does not report a tensor that goes directly to a component,
    `self.unet(x.to(self.device))`, because the component moves it. It does not report the components themselves, or
    functions whose name mentions offloading. It does not follow the tensor, so it also reports a tensor that only
    reaches components, although this is right.

    ## PyTorch says
    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!
    """

    code = "DEV308"
    severity = Severity.WARNING
    opt_in = True
    since = "0.1.0"
    mentions = "Pipeline"

    def visit_Attribute(self, node: cst.Attribute) -> None:  # noqa: N802
        """Reports one reading of a pipeline's device."""
        syntax = self.syntax()
        if node.attr.value != _DEVICE or not isinstance(node.value, cst.Name):
            return
        owner = node.value.value
        pipelines = syntax.derive(Pipelines)
        if not pipelines.is_pipeline(owner, node) or not _is_for_tensors(syntax, node, pipelines):
            return
        text, computes = quoted(f"{owner}.{_DEVICE}"), quoted(f"{owner}.{_EXECUTION_DEVICE}")
        self.report(
            node,
            f"after `enable_model_cpu_offload()`, {text} is the CPU, but the pipeline computes on {computes}",
            certainty=Certainty.POSSIBLE,
            advice=f"use {computes}",
        )


class Pipelines:
    """The pipelines that the classes and parameters of a file are.

    Args:
        syntax: of the file.
    """

    def __init__(self, syntax: Syntax) -> None:
        self._syntax = syntax
        self._names = {_BASE, *_imported(syntax)}
        self._functions = {function.name.value for function in syntax.within(syntax.module, cst.FunctionDef)}
        self._classes: set[cst.ClassDef] = set()
        knowing = {
            syntax.around(node, cst.ClassDef)
            for node in syntax.within(syntax.module, cst.Attribute)
            if node.attr.value == _EXECUTION_DEVICE and isinstance(node.value, cst.Name) and node.value.value == "self"
        }
        for cls in sorted(syntax.within(syntax.module, cst.ClassDef), key=lambda cls: syntax.place_of(cls).line):
            if cls.name.value == _BASE or cls in knowing or any(self._names_one(base.value) for base in cls.bases):
                self._classes.add(cls)
                self._names.add(cls.name.value)

    def is_pipeline(self, name: str, node: cst.CSTNode) -> bool:
        """Whether a name is a pipeline at a place, except in the code that decides about its device."""
        for function in self._syntax.parents(node):
            if not isinstance(function, cst.FunctionDef):
                continue
            parameters = (*function.params.posonly_params, *function.params.params, *function.params.kwonly_params)
            found = next((one for one in parameters if one.name.value == name), None)
            if found is None:
                continue
            if _PLACING.fullmatch(function.name.value):
                return False
            if found.annotation is not None:
                return self._names_one(found.annotation.annotation)
            return found is parameters[0] and self._class_of(function) in self._classes
        return False

    def is_part(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is a pipeline, or an attribute of one that no function of the file has the name of."""
        match node:
            case cst.Name(value=owner):
                return self.is_pipeline(owner, node)
            case cst.Attribute(value=cst.Name(value=owner), attr=cst.Name(value=name)):
                return name not in self._functions and self.is_pipeline(owner, node)
            case _:
                return False

    def _class_of(self, function: cst.FunctionDef) -> cst.CSTNode | None:
        """Return the class or other scope that a function is defined in."""
        return next(itertools.islice(self._syntax.parents(function), 1, None), None)

    def _names_one(self, node: cst.BaseExpression) -> bool:
        """Whether a base class or an annotation names a pipeline."""
        code = self._syntax.code(node)
        return any(word in self._names for word in re.findall(r"\w+", code)) or bool(_QUALIFIED.search(code))


def _imported(syntax: Syntax) -> Iterator[str]:
    """What the file calls the pipelines that it imports."""
    for statement in syntax.within(syntax.module, cst.ImportFrom):
        module = "" if statement.module is None else syntax.code(statement.module)
        if isinstance(statement.names, cst.ImportStar) or not _FILE.search(module):
            continue
        for alias in statement.names:
            name = syntax.code(alias.name)
            if name.endswith("Pipeline"):
                yield name if alias.asname is None else syntax.code(alias.asname.name)


def _is_for_tensors(syntax: Syntax, node: cst.CSTNode, pipelines: Pipelines) -> bool:
    """Whether the device that is read at a node is given to a call that may put a tensor there, or called `device`."""
    for parent in syntax.parents(node):
        match parent:
            case cst.BooleanOperation() | cst.IfExp():
                continue
            case cst.Arg():
                call = next(syntax.parents(parent))
                return isinstance(call, cst.Call) and _is_of_tensors(syntax, call, pipelines)
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]):
                return name == _DEVICE
            case _:
                return False
    return False


def _is_of_tensors(syntax: Syntax, call: cst.Call, pipelines: Pipelines) -> bool:
    """Whether a call may put a tensor on the device that it is given, and does not hand it to a component at once."""
    match call.func:
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)) if name in _READING:
            return False
        case cst.Attribute(value=value, attr=cst.Name(value="to")) if pipelines.is_part(value):
            return False
    outer = next(syntax.parents(call))
    taker = next(syntax.parents(outer)) if isinstance(outer, cst.Arg) else None
    return not (isinstance(taker, cst.Call) and pipelines.is_part(taker.func))
