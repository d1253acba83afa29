"""Worlds: choices that nobody in the project makes, and their values.

Free are the number of accelerators, what an option says, and what the client of a module hands over. Each is one symbol
wherever it is met, so `device` here and `device` there stay one device. A world gives every choice a value.
"""
