"""From source text to the instructions that the interpreter executes.

`ir` has the instructions, with an essay on them: begin there. `lower` is the door; the syntax is lowered by kind in
`statements`, `expressions`, `targets`, `definitions`, `comprehensions`, `patterns` and `annotations`. `pieces`,
`flattening` and `concrete` are about the syntax nodes of LibCST, which rules see.
"""
