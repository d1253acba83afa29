"""Instructions that change the state, and the table of all instructions."""

from __future__ import annotations

from devlint.frontend import ir
from devlint.inference.calls.attributes import write
from devlint.inference.calls.items import set_subscript
from devlint.inference.execute import branches, definitions, expressions, loops
from devlint.inference.execute.names import store
from devlint.inference.execute.run import TABLE, block
from devlint.inference.state.frame import Exit, Frame
from devlint.inference.values.objects import Instance, Library
from devlint.inference.values.terms import ABSENT, NONE, Root, Symbol, attribute


def store_name(frame: Frame, instruction: ir.Store) -> None:
    store(frame, instruction.name, frame.registers[instruction.source])


def store_attribute(frame: Frame, instruction: ir.StoreAttribute) -> None:
    frame.span = instruction.span
    owner, value = frame.registers[instruction.base], frame.registers[instruction.source]
    write(frame, owner, instruction.name, value, instruction.span)


def store_subscript(frame: Frame, instruction: ir.StoreSubscript) -> None:
    frame.span = instruction.span
    owner, index = frame.registers[instruction.base], frame.registers[instruction.index]
    set_subscript(frame, owner, index, frame.registers[instruction.source], instruction.span)


def delete(frame: Frame, instruction: ir.Delete) -> None:
    frame.state.names.pop(instruction.name, None)


def delete_attribute(frame: Frame, instruction: ir.DeleteAttribute) -> None:
    owner = frame.registers[instruction.base]
    if isinstance(owner, (Instance, Root, Symbol)):
        frame.heap.put(owner, attribute(instruction.name), ABSENT)


def delete_subscript(frame: Frame, instruction: ir.DeleteSubscript) -> None:
    owner, index = frame.registers[instruction.base], frame.registers[instruction.index]
    if isinstance(owner, (Root, Library)):
        set_subscript(frame, owner, index, NONE, instruction.span)


def nothing(frame: Frame, instruction: ir.Instruction) -> None:
    return


def return_(frame: Frame, instruction: ir.Return) -> None:
    value = NONE if instruction.source is None else frame.registers[instruction.source]
    frame.exits.append(Exit(value, frame.state, None if frame.repeats else frame.path))
    frame.leave()


def raise_(frame: Frame, instruction: ir.Raise) -> None:
    frame.leave()


TABLE.update(
    {
        ir.Const: expressions.const,
        ir.Load: expressions.load_name,
        ir.Attribute: expressions.attribute,
        ir.Subscript: expressions.subscripted,
        ir.Slice: expressions.slice_,
        ir.Call: expressions.call,
        ir.Binary: expressions.binary,
        ir.Unary: expressions.unary,
        ir.Compare: expressions.compare,
        ir.Logic: branches.logic,
        ir.Conditional: branches.conditional,
        ir.Format: expressions.formatted,
        ir.Build: expressions.build,
        ir.BuildMapping: expressions.build_mapping,
        ir.Append: expressions.appended,
        ir.Unpack: expressions.unpack,
        ir.MakeFunction: definitions.make_function,
        ir.MakeClass: definitions.make_class,
        ir.Yield: expressions.yielded,
        ir.Await: expressions.awaited,
        ir.Anything: expressions.anything,
        ir.Store: store_name,
        ir.StoreAttribute: store_attribute,
        ir.StoreSubscript: store_subscript,
        ir.Delete: delete,
        ir.DeleteAttribute: delete_attribute,
        ir.DeleteSubscript: delete_subscript,
        ir.Import: definitions.import_module,
        ir.ImportFrom: definitions.import_from,
        ir.If: branches.if_,
        ir.While: loops.while_,
        ir.For: loops.for_,
        ir.Try: branches.try_,
        ir.With: branches.with_,
        ir.Return: return_,
        ir.Raise: raise_,
        ir.Break: loops.break_,
        ir.Continue: loops.continue_,
    }
)

__all__ = ["block"]
