"""What the text of a file says without being executed.

The interpreter asks this package before it executes anything, and later where a value does not suffice. For

    for batch in loader:
        x = batch.to(device)
        loss = model(x)

`loops` says that the loop moves `x` in every turn, and `later_moves` finds the calls whose result a later line moves.

From the bottom up:

* `classes`: the classes of the program: bases, methods, and which attributes they store.
* `docstrings`: the types that the documentation of a function gives its parameters.
* `loaded_file`: a file as the program keeps it: the names it binds, and its text.
* `loops`: the moves in the text of a loop, and whether the loop trains.
* `contents`: what a body contains, such as the names of the methods that it calls.
* `free_names`: the names that an inner function reads from the functions around it, and a function from its file.
* `filled_parameters`: the parameters into which a function stores.
* `imports`: the imports of a file; no imported file is executed for this.
* `later_moves`: the calls whose results, or arguments, the calling function moves afterwards.
* `unread_moves`: the moves of a loop's variable whose result is never read.
* `texts`: answers to questions about bodies, and about the text of a span or file.
"""
