"""The abstract domain: what a value can be, and how two possibilities are joined. Standard library only.

`x = torch.zeros(3)` on one path and `x = torch.zeros(3, device="cuda")` on the other: `x` is `Tensor(cpu)` and
`Tensor(cuda:0)`. Where the paths meet, `environment.join` joins the values of each name by `value.join`, which joins
their devices by `device.join`: `Tensor(unknown)`, and devlint reports nothing about an unknown device. If one of the
paths has made sure of an accelerator, `environment` keeps its values instead.

From the bottom up:

* `body`: names for functions and for points in them.
* `kinds`: the kinds of events, conflicts and operands.
* `place`: the places of values: a root, and the steps from there.
* `device`: one device: concrete, a device variable, unknown; device strings.
* `provenance`: the record of why a value has its device; whoever moves or creates a value writes it.
* `process`: what a program settles for the rest of its run.
* `value`: what a name can hold, and how two values join.
* `given`: constants that a call passes, and what the called body asks about them.
* `size`: how large a value may be; a larger one is forgotten.
* `heap`: objects that change in place.
* `given_object`: objects that a call passes, and what the called body asks about them.
* `environment`: the known values at one point, and how two paths join.
* `summary`: what a call requires, moves and returns.
"""
