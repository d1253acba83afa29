"""Entries: the last callers, each with the values that it hands over.

A file is a program by itself. `module_client` uses a class of modules as its authors intend: it makes one with free
options, moves it as a whole to the accelerator, and calls it with inputs there.
"""
