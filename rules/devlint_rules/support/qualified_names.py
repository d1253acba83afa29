"""What the imports of a file call parts of torch: rules about wording resolve names with nothing else."""

from __future__ import annotations

import libcst as cst
from devlint.fixes.placing import all_imports, imported, known_by
from devlint.rule import Rule
from devlint.syntax import Syntax


class WordingRule(Rule):
    """Base of the rules about what a file says of torch, whatever that does.

    Each name is handed over once, as long as it is written: `torch.cuda.amp.autocast`, not `torch.cuda.amp` as well.
    """

    def said(self, node: cst.CSTNode, name: str) -> None:
        """Looks at one name: an attribute with its full name, or an import with the imported name."""
        raise NotImplementedError

    def visit_Attribute(self, node: cst.Attribute) -> None:  # noqa: N802
        """Hands over the longest names."""
        named = self.syntax().derive(Named)
        if isinstance(next(self.syntax().parents(node)), (cst.Attribute, cst.ImportFrom, cst.ImportAlias)):
            return
        name = named.meaning(node)
        if name:
            self.said(node, name)

    def visit_ImportAlias(self, node: cst.ImportAlias) -> None:  # noqa: N802
        """Hands over the imported names."""
        name = self.syntax().derive(Named).imported.get(node)
        if name is not None:
            self.said(node, name)


class Named:
    """The names that a file gives to modules and their members, wherever in it they are imported.

    Args:
        syntax: of the file.
    """

    def __init__(self, syntax: Syntax) -> None:
        statements = all_imports(syntax)
        self.imported = {alias: name for one in statements for alias, name in imported(one).items()}
        self._meant = {"torch": "torch"}
        self._meant.update((local, name) for one in statements for name, local in known_by(one))

    def meaning(self, node: cst.BaseExpression) -> str:
        """Return the full name behind a name or attribute of the file: `torch.cuda.synchronize`; "" for others."""
        parts: list[str] = []
        while isinstance(node, cst.Attribute):
            parts.append(node.attr.value)
            node = node.value
        if not isinstance(node, cst.Name) or node.value not in self._meant:
            return ""
        return ".".join((self._meant[node.value], *reversed(parts)))
