"""Lookups in the stubs by name, each computed once."""

from __future__ import annotations

from typing import Final, final

from devlint.inference.values.objects import Library, library
from devlint.inference.values.terms import NUMBER, Value
from devlint.torchlib.catalogue import Catalogue
from devlint.torchlib.knowledge import TENSOR_ONLY
from devlint.torchlib.signature import ClassEntry, NumberTerm, Signature, TensorTerm, Terms

MODULE_CLASS: Final = "torch.nn.Module"
TENSOR_CLASS: Final = "torch.Tensor"

NUMBERS: Final = frozenset({"torch.pi", "torch.e", "torch.inf", "torch.nan"})
"""What torch has that is a number and no dtype."""

OF_OTHER_TYPES: Final = frozenset(
    [
        *dir(str),
        *dir(list),
        *dir(dict),
        *dir(set),
        "to",
        "cuda",
        "cpu",
        "train",
        "eval",
        "apply",
        "type",
        "step",
        "backward",
    ]
)
"""Methods of tensors that other common objects have as well."""


@final
class Stubs:
    """The catalogue of signatures, with a cache for frequent lookups."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._names: dict[str, Value] = {}
        self._modules: dict[str, bool] = {}
        self._methods: dict[tuple[str, str], tuple[Signature, ...] | None] = {}
        self._tensor_methods: dict[str, bool] = {}

    def named(self, name: str) -> Value:
        """Return the value of a qualified name of a library."""
        found = self._names.get(name)
        if found is None:
            terms = self._catalogue.value(name)
            is_number = terms is not None and all(isinstance(each, NumberTerm) for each in terms)
            found = library(self._catalogue.canonical(name))
            if is_number and (not name.startswith("torch.") or name in NUMBERS):
                found = NUMBER
            self._names[name] = found
        return found

    def canonical(self, name: str) -> str:
        """Return the canonical name of a name in the stubs."""
        found = self.named(name)
        return found.name if isinstance(found, Library) else name

    def function(self, name: str) -> tuple[Signature, ...] | None:
        """Return the overloads of a function."""
        return self._catalogue.function(name)

    def class_(self, name: str) -> ClassEntry | None:
        """Return a class."""
        return self._catalogue.class_(name)

    def method(self, of: str, name: str) -> tuple[Signature, ...] | None:
        """Return the overloads of a method of a class or its bases."""
        if (of, name) not in self._methods:
            self._methods[of, name] = self._catalogue.method(of, name)
        return self._methods[of, name]

    def attribute(self, of: str, name: str) -> Terms | None:
        """Return the type of an attribute of a class or its bases."""
        return self._catalogue.attribute(of, name)

    def lineage(self, name: str) -> list[str]:
        """Return a class and its bases in libraries, nearest first."""
        return [entry.name for entry in self._catalogue.lineage(name)]

    def is_module_class(self, name: str) -> bool:
        """Whether a class of a library is one of modules."""
        if name not in self._modules:
            self._modules[name] = MODULE_CLASS in self.lineage(name)
        return self._modules[name]

    def is_stateless(self, name: str) -> bool:
        """Whether the modules of a class have neither parameters nor buffers."""
        entry = self.class_(name)
        return entry is not None and "stateless" in entry.markers

    def is_tensor_method(self, name: str) -> bool:
        """Whether tensors are the only common objects with a method of that name."""
        if name not in self._tensor_methods:
            is_own = name in TENSOR_ONLY or name not in OF_OTHER_TYPES
            self._tensor_methods[name] = is_own and self.method(TENSOR_CLASS, name) is not None
        return self._tensor_methods[name]

    def holds_tensors(self, name: str) -> bool:
        """Whether a library class has an attribute that is a tensor, or a method that returns one."""
        for entry in self._catalogue.lineage(name):
            terms = [term for forms in entry.methods.values() for form in forms for term in form.returns]
            terms += [term for each in entry.attributes for term in entry.attributes[each]]
            if any(isinstance(term, TensorTerm) for term in terms):
                return True
        return False
