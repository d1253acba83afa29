"""What a call does.

`target` says what is called. A function of the project has a summary: `arguments` binds what the caller hands over,
`substitution` answers the questions of the summary and puts in the caller's values, `apply` writes the effects and
hands on the requirements. There is no other way to execute a function of the project. `construct` makes objects of its
classes, and `attributes` and `items` execute its properties and its subscripts.
"""
