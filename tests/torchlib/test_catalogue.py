"""The catalogue: lookups, aliases, the user's own stubs, and that every name in our stubs exists."""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
from pathlib import Path

import pytest
from devlint.errors import CatalogueError
from devlint.torchlib.catalogue import ALIASES, STUBS, Catalogue, load, read_aliases
from devlint.torchlib.signature import DeviceTerm, NumberTerm, StubText, TensorTerm, parse_signature
from devlint.torchlib.stubfile import split

INSTANCE_ATTRIBUTES = frozenset(
    """
    weight bias training module alpha concentration concentration0 concentration1 cov_diag cov_factor
    covariance_matrix df df1 df2 high loc logits low precision_matrix probs rate scale scale_tril temperature
    """.split()
)
"""Attributes of modules and distributions that exist on instances only."""

MIXED_IN = frozenset({"transformers.PreTrainedModel.generate", "transformers.PreTrainedModel.from_config"})
"""Methods of most of the classes that a class stands for, though not of itself."""

GONE = frozenset(f"transformers.PreTrainedTokenizerBase.{name}" for name in ("encode_plus", "batch_encode_plus"))
"""Methods that transformers 4 has and 5 has not."""


@functools.cache
def catalogue() -> Catalogue:
    return load()


def test_function_method_class_and_value() -> None:
    add = catalogue().function("torch.add")
    assert add is not None
    assert str(add[0].returns[0]) == "Tensor[D, broadcast]"
    assert catalogue().value("torch.float32") == (NumberTerm(),)
    linear = catalogue().class_("torch.nn.Linear")
    assert linear is not None
    assert (linear.name, linear.bases) == ("torch.nn.Linear", ("torch.nn.Module",))
    relu = catalogue().class_("torch.nn.ReLU")
    assert relu is not None
    assert "stateless" in relu.markers
    assert catalogue().attribute("torch.Tensor", "device") == (DeviceTerm("D"),)
    assert catalogue().attribute("torch.Tensor", "data") == (TensorTerm("D", "R"),)


def test_methods_come_from_the_nearest_class() -> None:
    forward = catalogue().method("torch.nn.LSTM", "forward")
    assert forward is not None
    assert len(forward) == 2
    assert catalogue().method("torch.nn.LSTM", "to") == catalogue().method("torch.nn.Module", "to")
    assert catalogue().method("torch.nn.LSTM", "flatten_parameters") is not None
    assert catalogue().function("torch.Tensor.add_") == catalogue().method("torch.Tensor", "add_")


@pytest.mark.parametrize("name", ["torch.no_such", "torch.Tensor.no_such", "nowhere.add", "add", "torch.nn.no.such"])
def test_unknown_names_are_none(name: str) -> None:
    assert catalogue().function(name) is None
    assert catalogue().class_(name) is None
    assert catalogue().value(name) is None
    assert catalogue().method(name, "forward") is None
    assert catalogue().attribute(name, "device") is None


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("torch.nn.modules.linear.Linear", "torch.nn.Linear"),
        ("torch.nn.modules.Linear.forward", "torch.nn.Linear.forward"),
        ("torch.nn.parameter.Parameter", "torch.nn.Parameter"),
        ("torch.nn.parallel.DataParallel", "torch.nn.DataParallel"),
        ("torch.optim.adamw.AdamW", "torch.optim.AdamW"),
        ("torch.nn.functional.relu", "torch.nn.functional.relu"),
        ("torch.nn.modulesque", "torch.nn.modulesque"),
    ],
)
def test_canonical_names(name: str, canonical: str) -> None:
    assert catalogue().canonical(name) == canonical


def test_an_alias_names_the_same_thing_in_torch() -> None:
    known = set(catalogue().names())
    for alias, target in read_aliases(ALIASES).items():
        assert catalogue().canonical(target) == target, f"{alias} leads to another alias"
        if not is_installed(alias) or "*" in alias or "._" in target:
            continue
        if target in known:
            assert resolve(alias) is resolve(target), alias
        else:
            assert any(name.startswith(f"{target}.") for name in known), f"{alias} leads to nothing"


def test_every_name_in_the_stubs_exists() -> None:
    names = [name for name in catalogue().names() if is_installed(name) and not is_ours(name)]
    assert [name for name in names if not exists(name)] == []
    assert "torch.add" in names


def is_installed(name: str) -> bool:
    """Whether the library can be imported here; torch and numpy always can."""
    return importlib.util.find_spec(name.partition(".")[0]) is not None


def is_ours(name: str) -> bool:
    """Whether the library need not have the name: instances have it, or it stands for several classes."""
    holder, _, last = name.rpartition(".")
    if name.startswith(("torch.", "numpy.")):
        return last in INSTANCE_ATTRIBUTES
    attribute = last in (entry.attributes if (entry := catalogue().class_(holder)) else {})
    return attribute or "._" in name or name in MIXED_IN | GONE


def exists(name: str) -> bool:
    try:
        resolve(name)
    except AttributeError:
        return False
    return True


def resolve(name: str) -> object:
    """The object of a qualified name, importing what must be imported."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for part in parts[end:]:
            found = getattr(found, part)
        return found
    raise AttributeError(name)


STUB_FILES = sorted(STUBS.rglob("*.pyi"))


@pytest.mark.parametrize("path", STUB_FILES, ids=lambda path: str(path.relative_to(STUBS)))
def test_a_stub_file_is_cut_as_python_reads_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    body = split(StubText(text, str(path)))
    tree = ast.parse(text)
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert sorted(name for name, pieces in body.functions.items() for _ in pieces) == sorted(functions)
    assert set(body.classes) == {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    lines = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            lines[node.name] = node.decorator_list[0].lineno if node.decorator_list else node.lineno
    assert {name: piece.line for name, piece in body.classes.items()} == lines


@pytest.mark.parametrize("path", STUB_FILES, ids=lambda path: str(path.relative_to(STUBS)))
def test_every_signature_prints_as_it_is_written(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    body = split(StubText(text, str(path)))
    pieces = [piece for pieces in body.functions.values() for piece in pieces]
    for piece in pieces:
        written = "\n".join(line for line in piece.text.strip().split("\n") if line != "@overload")
        assert str(parse_signature(piece)) == written


@pytest.mark.parametrize("path", STUB_FILES, ids=lambda path: str(path.relative_to(STUBS)))
def test_forms_of_one_name_are_marked_as_overloads_and_stand_together(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    for body in bodies:
        functions = [node for node in body if isinstance(node, ast.FunctionDef)]
        names = [node.name for node in functions]
        for position, node in enumerate(functions):
            overloaded = any(isinstance(each, ast.Name) and each.id == "overload" for each in node.decorator_list)
            assert overloaded == (names.count(node.name) > 1), node.name
            assert node.name not in names[position + 2 :] or node.name == names[position + 1], node.name


def test_the_users_stubs_are_added_and_override(tmp_path: Path) -> None:
    folder = tmp_path / "signatures"
    (folder / "mylib").mkdir(parents=True)
    (folder / "mylib" / "ops.pyi").write_text("def scale(x: Tensor[D, R], by: Number) -> Tensor[D, R]: ...\n")
    (folder / "torch.pyi").write_text("def add(input: Tensor[cpu]) -> Tensor[cpu]: ...\n")
    single = tmp_path / "other.pyi"
    single.write_text("class Net(torch.nn.Module):\n    def forward(self: Module[D], x: Tensor[D]) -> Tensor[D]: ...\n")
    loaded = load([folder, single])
    scale, add = loaded.function("mylib.ops.scale"), loaded.function("torch.add")
    assert scale is not None
    assert add is not None
    assert str(add[0]) == "def add(input: Tensor[cpu]) -> Tensor[cpu]: ..."
    assert loaded.function("torch.sub") == catalogue().function("torch.sub")
    assert loaded.method("other.Net", "cuda") is not None


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("def f(x: Tensor[D]) -> Tensor[D]: ...\n\ndef g(x: Tensor) -> None: ...\n", 3, "not a type"),
        ("class C:\n    a: Number\n\n    def f(self) -> Oops: ...\n", 4, "not a type"),
        ("class C:\n    a: Oops\n", 2, "not a type"),
        ("class C:\n    a = 3\n", 2, "not a declaration"),
        ("x = 3\n", 1, "not a declaration"),
        ('"""Words.\n\ndef f(:\n"""\n@stateles\nclass C: ...\n', 5, "unknown marker"),
        (
            "@stateless\nclass C:\n\n    def f(self) -> None: ...\n    def g(self) -> Oops: ...\n",
            5,
            "not a type",
        ),
    ],
)
def test_an_error_in_the_users_stub_is_located(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = tmp_path / "own.pyi"
    path.write_text(text)
    with pytest.raises(CatalogueError) as caught:
        load([path])
    assert message in caught.value.message
    assert (caught.value.path, caught.value.line) == (str(path), line)


def test_a_missing_stub_is_reported(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="cannot be read"):
        load([tmp_path / "absent.pyi"])


def test_every_operator_of_tensors_has_a_signature() -> None:
    import operator

    import torch

    operators = {name for name in dir(operator) if name.startswith("__") and hasattr(operator, name.strip("_"))}
    operators = {name for name in operators if hasattr(torch.Tensor, name)} - {"__call__", "__delitem__"}
    assert {"__add__", "__itruediv__", "__getitem__"} <= operators
    assert [name for name in operators if catalogue().method("torch.Tensor", name) is None] == []
