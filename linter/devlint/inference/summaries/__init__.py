"""Summaries: the outcome of a body, executed once for all callers that answer its questions alike.

`make` executes a body with symbols and puts its outcome together. `cases` finds the execution that fits what a caller
knows, and brings recursion to an end.
"""
