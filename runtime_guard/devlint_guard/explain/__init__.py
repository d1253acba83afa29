"""What an error says, and where its values are from.

* `messages`: PyTorch's texts, and what each means.
* `operands`: the values that the failed operation combined.
* `cause`: the last event that put a tensor where it is.
* `links`: the part of an expression that its value comes from, and one step of the way of a value.
* `trail`: the way of a value back, from the failing line to the line that made it.
* `line_values`: the values of the failing line, by device, parameter or name.
"""
