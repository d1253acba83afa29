from __future__ import annotations

import ast

import pytest
from devlint.frontend.annotations import annotation_of
from devlint.frontend.show import annotation_text


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Tensor", "Tensor"),
        ("torch.Tensor", "torch.Tensor"),
        ("None", "None"),
        ("'Tensor'", "Tensor"),
        ("' torch.Tensor | None '", "torch.Tensor|None"),
        ("Tensor | None", "Tensor|None"),
        ("Tensor | 'ndarray' | None", "Tensor|ndarray|None"),
        ("Optional[Tensor]", "Tensor|None"),
        ("t.Optional['Tensor']", "Tensor|None"),
        ("Union[Tensor, list[Tensor], None]", "Tensor[Tensor]|list|None"),
        ("Union[Tensor]", "Tensor"),
        ("Annotated[Tensor, 'b n']", "Tensor"),
        ("Final[Tensor]", "Tensor"),
        ("list[Tensor]", "list[Tensor]"),
        ("typing.List[Optional[Tensor]]", "typing.List[Tensor|None]"),
        ("Sequence[list[Tensor]]", "Sequence[list[Tensor]]"),
        ("tuple[Tensor, ...]", "tuple[Tensor]"),
        ("Tuple[Tensor, Tensor]", "Tuple[Tensor]"),
        ("tuple[Tensor, int]", "tuple"),
        ("tuple[()]", "tuple"),
        ("dict[str, Tensor]", "dict[Tensor]"),
        ("Mapping[str, list[Tensor]]", "Mapping[list[Tensor]]"),
        ("Generator[Tensor, None, None]", "Generator[Tensor]"),
        ("Optional[list[Tensor]]", "list[Tensor]|None"),
        ("Callable[[Tensor], Tensor]", "Callable"),
        ("Literal['cpu', 'cuda']", "Literal"),
        ("Float[Tensor, 'b n']", "Float"),
    ],
)
def test_annotation(source: str, expected: str) -> None:
    assert annotation_text(annotation_of(ast.parse(source, mode="eval").body)) == expected


@pytest.mark.parametrize("source", ["'Tensor |'", "f(x)", "3", "Tensor | f()", "Union[int, 3]", "(a)()[b]", "'\\0'"])
def test_not_understood(source: str) -> None:
    assert annotation_of(ast.parse(source, mode="eval").body) is None
