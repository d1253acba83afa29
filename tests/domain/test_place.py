"""Access paths: making them, asking them, and their text for people."""

from __future__ import annotations

import pickle

import pytest
from devlint.domain.place import EACH, AccessPath, AccessStep, Fresh

X = AccessPath("x")
SELF = AccessPath("self")
LOADED = AccessPath(Fresh("load()", (3, 5)))
COMPUTED = AccessPath(Fresh("a if b else c", (7, 0)))
MADE = AccessPath(Fresh("weight"))


@pytest.mark.parametrize(
    ("place", "people", "exact"),
    [
        (X, "x", "x"),
        (SELF.attribute("fc").attribute("weight"), "self.fc.weight", "self.fc.weight"),
        (X.item("image").item(0), "x['image'][0]", "x['image'][0]"),
        (X.item(-1), "x[-1]", "x[-1]"),
        (X.each().attribute("device"), "x[*].device", "x[*].device"),
        (X.call("to"), "x.to()", "x.to()"),
        (X.call("to").called_at(4, 2), "x.to()", "x.to()@4:2"),
        (AccessPath("result").call(), "result()", "result()"),
        (LOADED, "load()", "?load()@3:5"),
        (LOADED.made_by_call(9, 1).attribute("shape"), "load().shape", "?load()@3:5:9:1.shape"),
        (MADE, "weight", "?weight"),
        (AccessPath("row@12:5").attribute("x"), "row.x", "row@12:5.x"),
        (AccessPath("the accelerator"), "the accelerator", "the accelerator"),
        (AccessPath.of_dotted("settings.device"), "settings.device", "settings.device"),
    ],
)
def test_a_place_is_told_to_people_without_where_it_was_made(place: AccessPath, people: str, exact: str) -> None:
    assert (str(place), place.exact) == (people, exact)


def test_places_made_by_the_same_steps_are_one_place() -> None:
    one, other = X.attribute("rows").item(0), X.step(AccessStep.attribute("rows")).step(AccessStep.item(0))
    assert one == other
    assert len({one, other, X.step(EACH), X.each()}) == 2
    assert pickle.loads(pickle.dumps(one)) == one


@pytest.mark.parametrize(
    "other", [X.item("a"), X.call("a"), X.attribute("b"), AccessPath("y").attribute("a"), LOADED.attribute("a")]
)
def test_places_that_differ_in_one_step_or_the_root_are_different(other: AccessPath) -> None:
    assert X.attribute("a") != other


def test_a_result_is_another_one_for_each_call_that_leads_to_it() -> None:
    assert LOADED.made_by_call(9, 1) != LOADED
    assert LOADED.made_by_call(9, 1) != LOADED.made_by_call(10, 1)
    assert X.made_by_call(9, 1) == X
    assert MADE.made_by_call(9, 1) == MADE
    assert X.call("to").called_at(4, 2) != X.call("to")


def test_a_place_of_a_called_function_is_found_where_its_caller_has_the_argument() -> None:
    inside = X.item("image").attribute("device")
    given = SELF.attribute("batch")
    assert inside.rooted_at(given) == SELF.attribute("batch").item("image").attribute("device")
    assert given.rooted_at(LOADED) == LOADED.attribute("batch")


def test_what_a_place_begins_with_and_is_a_part_of() -> None:
    place = X.attribute("rows").item(0).attribute("device")
    assert place.base == X
    assert place.parent == X.attribute("rows").item(0)
    assert place.whole == X.attribute("rows")
    assert place.root_name == "x"
    assert place.behind_root == ".rows[0].device"
    assert X.parent == X.whole == X.base == X
    assert LOADED.attribute("a").root_name == ""


def test_only_a_name_alone_has_a_name() -> None:
    assert X.name == "x"
    assert X.attribute("a").name == ""
    assert LOADED.name == ""


@pytest.mark.parametrize(
    ("place", "element", "of_element", "of_entry", "nested"),
    [
        (X, False, False, False, False),
        (X.item(0), True, True, False, False),
        (X.each(), True, True, False, False),
        (X.item("a"), True, True, True, False),
        (X.item("a").attribute("b"), False, True, True, False),
        (X.item("a").item("b").item(0), True, True, True, True),
        (X.item("a").each(), True, True, True, False),
        (X.attribute("a").item("b"), True, False, False, False),
        (LOADED.item("a").item("b"), True, False, False, False),
    ],
)
def test_elements_and_entries(place: AccessPath, element: bool, of_element: bool, of_entry: bool, nested: bool) -> None:
    found = place.is_element, place.is_of_element, place.is_of_entry, place.is_nested_entry
    assert found == (element, of_element, of_entry, nested)


def test_any_element_is_none_in_particular() -> None:
    assert X.each().is_each
    assert not X.item("*").is_each
    assert not X.each().attribute("a").is_each


@pytest.mark.parametrize(
    ("place", "fresh", "made", "returned"),
    [
        (X, False, False, False),
        (LOADED, True, True, False),
        (LOADED.attribute("a"), True, True, False),
        (AccessPath(Fresh("layers[0]()", (1, 0))), True, True, False),
        (COMPUTED, True, True, False),
        (COMPUTED.call("to"), True, True, True),
        (COMPUTED.call("to").called_at(4, 2), True, True, False),
        (X.call("to"), False, False, True),
        (X.call("to").called_at(4, 2), False, True, False),
    ],
)
def test_results(place: AccessPath, fresh: bool, made: bool, returned: bool) -> None:
    assert (place.is_fresh, place.is_made, place.is_returned) == (fresh, made, returned)


def test_a_result_knows_where_it_was_made() -> None:
    assert LOADED.is_made_at(3, 5)
    assert not LOADED.is_made_at(3, 6)
    assert not LOADED.attribute("a").is_made_at(3, 5)
    assert not LOADED.made_by_call(9, 1).is_made_at(3, 5)
    assert not X.is_made_at(3, 5)


def test_only_an_attribute_of_self_is_of_self() -> None:
    assert SELF.attribute("fc").item(0).is_of_self
    assert not any(place.is_of_self for place in (SELF, SELF.item(0), X.attribute("fc"), AccessPath("selfish")))


def test_the_last_step_says_what_a_place_is() -> None:
    assert SELF.attribute("device").is_attribute("device")
    assert not SELF.attribute("device").is_attribute("dev")
    assert not SELF.item("device").is_attribute("device")
    assert not AccessPath("device").is_attribute("device")
    assert X.call("to").is_result_of("to")
    assert not X.attribute("to").is_result_of("to")


@pytest.mark.parametrize(
    ("place", "last", "end"),
    [
        (X, "x", "x"),
        (X.attribute("rows"), "rows", "rows"),
        (X.attribute("rows").item(0), "rows[0]", "[0]"),
        (X.item("use_gpu"), "x['use_gpu']", "['use_gpu']"),
        (X.call("items"), "items()", "items()"),
        (AccessPath("result").call(), "result()", "result()"),
        (AccessPath(Fresh("self.net", (3, 5))), "net@3:5", "net@3:5"),
    ],
)
def test_the_last_name_of_a_place(place: AccessPath, last: str, end: str) -> None:
    assert (place.last, place.end) == (last, end)


@pytest.mark.parametrize(
    ("place", "passes"),
    [
        (AccessPath("device"), False),
        (SELF.attribute("_device"), False),
        (SELF.attribute("device"), True),
        (SELF.attribute("device_ids").item(0), True),
        (X.item("device"), False),
    ],
)
def test_devices_by_name(place: AccessPath, passes: bool) -> None:
    assert place.passes_device == passes


def test_an_attribute_is_read_anywhere_on_the_way() -> None:
    assert X.attribute("a").item(0).has_attribute
    assert X.call("to").has_attribute
    assert not X.item("a.b").has_attribute


def test_a_result_cannot_be_read_again() -> None:
    assert LOADED.attribute("a").source == ""
    assert SELF.attribute("fc").source == "self.fc"
