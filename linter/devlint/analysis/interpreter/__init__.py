"""The transfer functions of the instructions: one body is executed by these files.

`expressions` ends with the table of all transfer functions. For

    y = scale(x.to("cuda"))

the instructions are: load `x`, load its attribute `to`, call it with `"cuda"`, load `scale`, call it, store `y`.
`attributes` answers the second, `calls` the third and the fifth, `scopes` the others. `calls` sends the move to
`libraries.moves` and the call of `scale` to `program_calls`, which applies a summary or executes the body.

From the bottom up:

* `data_loading`: what a DataLoader does on its own, between a data set and a loop.
* `joins`: what a name holds where two paths meet, beyond the joins of `devlint.domain`.
* `with_blocks`: context managers that choose where tensors are created.
* `statements`: branches, returns, assertions, `with`, `try`.
* `closures`: the names and objects that an inner function reads from the functions around it.
* `bodies`: the execution of the body of a function.
* `entries`: what a summary has to know of the arguments of a call.
* `leading_call`: a call that leads to a mistake in the called body: which of the two values it passes itself.
* `program_calls`: calls of functions of the program: arguments are bound to its parameters, then a summary is applied,
  or the body is executed.
* `construction`: new objects of the classes of the program.
* `calls`: finds the called function, method, object or library.
* `attributes`: `x.name`, read and stored; whether a store registers a parameter, buffer or module.
* `iteration`: the elements that a loop runs over.
* `scopes`: names, definitions and imports.
* `loop_statements`: loops: a body is repeated until its environment no longer changes.
* `expressions`: operators, displays, literals; and the table of all transfer functions.
"""
