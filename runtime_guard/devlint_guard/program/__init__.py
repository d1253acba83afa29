"""The program that runs: its frames, its source and its objects, read without running anything of it.

* `stored`: what an object holds in its `__dict__`, its lists and tables; nothing of the program runs.
* `accelerator`: the accelerator, and the default device.
* `uncompiled`: functions that Dynamo passes over.
* `replacements`: attributes of torch that are replaced for a time.
* `quoting`: text of the program, harmless to print.
* `frames`: frames and tracebacks, which of them are the user's, and their source.
* `undisturbed`: work of the guard that must not change what the program does.
* `naming`: the paths of modules and tensors, and the modules that paths begin with.
* `bindings`: the assignments of a variable that may have been the last.
* `expressions`: expressions of the source, and the values that they have.
* `functions`: a function with its source and its variables.
"""
