"""Objects: storing and reading, and what is read after two states of one object have joined."""

from __future__ import annotations

from devlint.domain.device import CPU, UNKNOWN_DEVICE, Concrete
from devlint.domain.heap import DictObject, Heap, Instance, LibraryObject, ListObject, join, join_heaps, summary
from devlint.domain.value import NUMBER, UNKNOWN, Constant, Reference, Tensor, leq
from hypothesis import given, settings

from tests.domain import samples
from tests.domain.samples import CLASS_A, CLASS_B, IDS

GPU = Concrete("cuda", 0)
ON_CPU, ON_GPU, ANYWHERE = Tensor(CPU, 1), Tensor(GPU, 1), Tensor(UNKNOWN_DEVICE, 1)
QUICK = settings(max_examples=80, deadline=None, derandomize=True)


def test_lists_of_one_length_join_element_by_element() -> None:
    assert join(ListObject((ON_CPU, ON_CPU)), ListObject((ON_CPU, ON_GPU))) == ListObject((ON_CPU, ANYWHERE))


def test_lists_of_different_length_keep_what_all_elements_share() -> None:
    assert join(ListObject((ON_CPU,)), ListObject((ON_CPU, ON_CPU))) == ListObject(None, ON_CPU)
    assert join(ListObject((ON_CPU,)), ListObject((ON_GPU, ON_GPU))) == ListObject(None, ANYWHERE)


def test_an_empty_list_says_nothing_against_the_elements_of_the_other() -> None:
    assert join(ListObject(()), ListObject((ON_CPU,))) == ListObject(None, ON_CPU)
    assert join(ListObject(None, NUMBER, None, Constant(1)), ListObject(())) == ListObject(
        None, NUMBER, None, Constant(1)
    )


def test_a_list_and_a_module_that_holds_others_are_not_of_a_kind() -> None:
    assert join(ListObject((ON_CPU,)), ListObject((ON_CPU,), module="torch.nn.ModuleList")) is None
    assert join(ListObject(()), DictObject(())) is None
    assert join(Instance(CLASS_A), Instance(CLASS_B)) is None
    assert join(LibraryObject("torch.nn.Linear", CPU), LibraryObject("torch.nn.Conv2d", CPU)) is None


def test_attributes_stored_on_one_path_are_kept() -> None:
    left = Instance(CLASS_A, (("a", ON_CPU), ("b", ON_CPU)), frozenset("a"))
    right = Instance(CLASS_A, (("a", ON_GPU), ("c", ON_GPU)), frozenset("c"), True)
    joined = join(left, right)
    assert joined == Instance(CLASS_A, (("a", ANYWHERE), ("b", ON_CPU), ("c", ON_GPU)), frozenset("ac"), True)


def test_storing_an_attribute_replaces_it_and_its_registration() -> None:
    instance = Instance(CLASS_A).put("a", ON_CPU, registered=True).put("b", ON_CPU, registered=False)
    assert instance.registered == {"a"}
    again = instance.put("a", ON_GPU, registered=False)
    assert again.get("a") == ON_GPU
    assert again.registered == frozenset()
    assert instance.get("a") == ON_CPU
    assert again.get("c") is None


def test_keys_of_a_dict_are_distinguished_by_type() -> None:
    numbers = DictObject(((1, ON_CPU),), rest=NUMBER)
    assert numbers.get(1) == ON_CPU
    assert numbers.get(True) == NUMBER
    assert numbers.get("1") == NUMBER


def test_parts_of_a_library_object() -> None:
    loader = LibraryObject("torch.utils.data.DataLoader", CPU, None, (("dataset", Reference(IDS[0])),))
    assert loader.part("dataset") == Reference(IDS[0])
    assert loader.part("sampler") == UNKNOWN


def test_an_object_made_on_one_path_is_as_that_path_has_it() -> None:
    left = Heap({IDS[0]: ListObject((ON_CPU,))})
    right = Heap({IDS[0]: ListObject((ON_GPU,)), IDS[1]: Instance(CLASS_A)})
    assert join_heaps(left, right) == {IDS[0]: ListObject((ANYWHERE,)), IDS[1]: Instance(CLASS_A)}
    assert left == {IDS[0]: ListObject((ON_CPU,))}


def test_a_body_changes_a_heap_above_the_one_it_found() -> None:
    found = Heap({IDS[0]: ListObject((ON_CPU,)), IDS[1]: Instance(CLASS_A)})
    inner = found.above()
    inner[IDS[0]] = ListObject((ON_GPU,))
    del inner[IDS[1]]
    assert (dict(inner), found[IDS[0]]) == ({IDS[0]: ListObject((ON_GPU,))}, ListObject((ON_CPU,)))
    assert inner != found.above()
    assert inner.copy() == inner
    assert dict(found.take(inner)) == {IDS[0]: ListObject((ON_GPU,))}


@QUICK
@given(samples.heaps, samples.heaps)
def test_heaps_are_equal_if_they_hold_the_same(left: Heap, right: Heap) -> None:
    assert (left == right) == (dict(left) == dict(right))


@QUICK
@given(samples.sequences(None), samples.sequences(None))
def test_every_element_of_a_list_is_below_what_is_known_of_the_join(left: ListObject, right: ListObject) -> None:
    joined = join(left, right)
    assert isinstance(joined, ListObject)
    for side in (left, right):
        for position, item in enumerate(side.items or ()):
            assert leq(item, summary(joined))
            if joined.items is not None:
                assert leq(item, joined.items[position])
        if side.items is None:
            assert leq(side.rest, summary(joined))


@QUICK
@given(samples.instances(CLASS_A), samples.instances(CLASS_A))
def test_every_attribute_is_below_that_of_the_join(left: Instance, right: Instance) -> None:
    joined = join(left, right)
    assert isinstance(joined, Instance)
    for side in (left, right):
        for name, value in side.attributes:
            found = joined.get(name)
            assert found is not None
            assert leq(value, found)
        assert side.registered <= joined.registered
        assert joined.open or not side.open


@QUICK
@given(samples.dictionaries(None), samples.dictionaries(None))
def test_every_entry_is_below_that_of_the_join(left: DictObject, right: DictObject) -> None:
    joined = join(left, right)
    assert isinstance(joined, DictObject)
    keys = [key for key, _ in left.items + right.items]
    for side in (left, right):
        for key in keys:
            if not side.complete or key in dict(side.items):
                assert leq(side.get(key), joined.get(key))
