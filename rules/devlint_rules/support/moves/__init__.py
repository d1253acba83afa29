"""Which value moves to which device, and the edits that move it, create it there or register it."""
