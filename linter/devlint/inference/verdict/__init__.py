"""The verdict on what is broken: which rule it breaks, how certain that is, and where the report stands.

This is the only part that names rules and levels.
"""
