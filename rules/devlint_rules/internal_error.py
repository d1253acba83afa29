"""internal-error: devlint itself failed on a part of a file."""

from __future__ import annotations

from devlint.diagnostics import Severity
from devlint.rule import Rule


class InternalError(Rule):
    """
    ## What it does
    Reports that devlint itself failed on a file or a function, with the phase and the reason.

    ## Why is this bad
    devlint did not check that part of the file, so the absence of reports means nothing. The run ends with exit code 2.

    ## Example
    No program is meant to cause it. It reads like this:

        src/net.py:12:5: DEV903 [internal-error] analysis of Net.forward failed: KeyError: 'x'

    ## Use instead
    Report it, with the smallest piece of code that shows it. Meanwhile the rest of the file is checked as
    usual.

    ## Fix safety
    There is no fix.

    ## Known limits
    devlint gives up a file whose analysis takes more than two million steps, with this code.

    ## PyTorch says
    Nothing: this is about devlint, not about your program.
    """

    code = "DEV903"
    severity = Severity.ERROR
    since = "0.1.0"
