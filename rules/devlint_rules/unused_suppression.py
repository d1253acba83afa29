"""unused-suppression: a comment silences nothing."""

from __future__ import annotations

from devlint.rule import Rule


class UnusedSuppression(Rule):
    """
    ## What it does
    Reports `# devlint: ignore[…]`, `# devlint: ignore-file[…]` and devlint's codes in a `# noqa: …`, if they silence
    nothing or name no rule. Also reports any other comment that begins with `devlint:`, such as `#
    devlint: disable=DEV302`, and suggests the right form.

    ## Why is this bad
    The line has been fixed, or the comment names the wrong rule. The comment would also
    silence the next mistake on that line.

    ## Example

        x = torch.zeros(3, device=y.device)  # devlint: ignore[mixed-device-operands] y is on the CPU
        z = x + y

    ## Use instead

        x = torch.zeros(3, device=y.device)
        z = x + y

    ## Fix safety
    Removing a comment changes nothing that runs.

    ## Known limits
    devlint judges a comment only if every rule that it names is on for the file. Opt-in rules that are off do not
    count. devlint never judges a bare `# noqa`, `# ruff: noqa` or `# flake8: noqa`, because other tools read it too.

    ## PyTorch says
    Nothing: this is about a comment.
    """

    code = "DEV902"
    since = "0.1.0"
