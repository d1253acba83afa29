"""How devlint compares with other tools, with the command or the test behind each answer."""
