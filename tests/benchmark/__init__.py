"""How fast devlint and other checkers are, measured side by side on the same folders."""
