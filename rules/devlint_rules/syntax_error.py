"""syntax-error: Python cannot parse a file."""

from __future__ import annotations

from devlint.diagnostics import Severity
from devlint.rule import Rule


class SyntaxError(Rule):
    """
    ## What it does
    Reports a file that is not valid Python. devlint finds such an error when it reads the file, before any analysis.

    ## Why is this bad
    devlint checked nothing in the file. The run ends with exit code 2, even if all other files are correct.

    ## Example

        def scaled(x:  # error: [syntax-error]
            return x * 2

    ## Use instead

        def scaled(x):
            return x * 2

    ## Fix safety
    There is no fix.

    ## Known limits
    Syntax newer than the Python that runs devlint counts as an error.

    ## PyTorch says
    Nothing; Python raises SyntaxError when the file is run or imported.
    """

    code = "DEV901"
    severity = Severity.ERROR
    since = "0.1.0"
