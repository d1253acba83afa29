"""From source text to the instructions that the interpreter executes."""
