"""One execution of one body, and its questions about the rest of the program.

An execution never imports the program that it belongs to. It knows the protocols of `questions`, which `program`
answers, so that no transfer function depends on the order of analysis. For the body of `def scale(x)` there is one
`Frame`; its registers hold abstract values, its log holds the facts and the requirements of the body.

From the bottom up:

* `budget`: how far calls are followed that are executed with the objects of their caller.
* `steps`: how long one file may be analysed.
* `questions`: the protocols: texts, names, other functions, the machine.
* `frame`: registers, jumps, and the log of one execution.
"""
