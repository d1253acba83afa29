"""suppression-without-reason: a comment silences a report without a reason."""

from __future__ import annotations

from devlint.rule import Rule


class SuppressionWithoutReason(Rule):
    """
    ## What it does
    Reports `# devlint: ignore[…]`, `# devlint: ignore-file[…]` and devlint's codes in a `# noqa: …` without words after
    them. A project turns this rule on to require reasons.

    ## Why is this bad
    The next reader of the line cannot tell a considered exception from a report that was in the way.

    ## Example

        x = torch.ones(3, device="cuda:1")  # devlint: ignore[unguarded-cuda-index]

    ## Use instead

        x = torch.ones(3, device="cuda:1")  # devlint: ignore[unguarded-cuda-index] this job always gets two

    ## Fix safety
    There is no fix: only the author knows the reason.

    ## Known limits
    Any words count as a reason. A bare `# noqa` needs none.

    ## PyTorch says
    Nothing: this is about a comment.
    """

    code = "DEV904"
    opt_in = True
    since = "0.1.0"
