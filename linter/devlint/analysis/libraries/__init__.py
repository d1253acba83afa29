"""Calls of functions, methods and modules of libraries.

A signature in `torchlib/stubs` says what `torch.add` needs and returns; this package applies it. For `torch.add(x, y)`
`unify` gathers which arguments name the device variable `D` of the signature, `apply_signature` hands them to
`conflicts` and puts the result on `D`. Where a signature does not suffice, `transfer_tables` leads to a function of
`analysis.transfers`.

From the bottom up:

* `moves`: `.to()` and its like: tensors are copied, modules change in place.
* `ranks`: how many dimensions the result of a signature has.
* `transfer_tables`: one call of a library, and the tables of transfer functions.
* `unify`: which arguments stand for which variable of a signature.
* `apply_signature`: the device of the result, and whether all operands agree.
* `builtin_methods`: methods of lists, sets, dicts and text.
* `handed_out`: parts that a module hands out: a move of one moves that part of the module.
* `move_targets`: the device that a call of `.to`, `.cuda` or the like names.
* `library_calls`: functions, methods and modules of the catalogue.
* `methods`: methods of unknown values, of objects and of modules, such as `register_buffer`.
"""
