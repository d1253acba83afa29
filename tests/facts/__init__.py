"""The facts of the inference, compared with what programs compute.

The inference claims something about each expression: the kind of its value, the device, the rank, and the conditions
under which it is reached (`devlint.inference.execute.claims`). A run of the program knows the truth. `python -m
tests.facts PROGRAM …` compares the two:

* `instrument` makes a program tell the value of each expression, and the variables with which each body begins.
* `meaning` puts the values of this run in place of the symbols of a body, and evaluates terms with them.
* `compare` compares each value with its claim: they agree, disagree, or the inference does not know. It also evaluates
  the requirements of each body that begins. A requirement that is broken must raise.
* `run` does this for one program, in a rehearsal or plainly, in a process of its own.

One wrong fact makes many claims wrong. So a disagreement counts as the *first* one only if no operand of the expression
disagrees, and if neither the same object nor the same claim has disagreed before.
"""
