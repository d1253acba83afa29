"""unused-suppression: a suppression that silences nothing."""

from __future__ import annotations

from devlint.rule import Rule


class UnusedSuppression(Rule):
    """
    ## What it does
    Reports `# devlint: ignore[…]`, `# devlint: ignore-file[…]` and the codes of devlint in a `# noqa: …` where
    they silence nothing, or name no rule. Reports every other comment that begins with `devlint:` with the
    spelling that it seems to mean: `# devlint: disable=DEV302` silences nothing.

    ## Why is this bad
    The line that the comment was written for has been mended, or was never reported: the rule is called
    something else. Left in place, the comment silences the next mistake on that line as well.

    ## Example

        x = torch.zeros(3, device=y.device)  # devlint: ignore[mixed-device-operands] y is on the CPU
        z = x + y

    ## Use instead

        x = torch.zeros(3, device=y.device)
        z = x + y

    ## Fix safety
    Removing a comment changes nothing that runs.

    ## Known limits
    A comment is judged only if every rule that it names is on for the file; rules that are opt-in and off do
    not count. A bare `# noqa`, `# ruff: noqa` or `# flake8: noqa` is never judged, since other tools read it too.

    ## PyTorch says
    Nothing: this is about a comment.
    """

    code = "DEV902"
    since = "0.1.0"
