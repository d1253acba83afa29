"""suppression-without-reason: a suppression without a reason."""

from __future__ import annotations

from devlint.rule import Rule


class SuppressionWithoutReason(Rule):
    """
    ## What it does
    Reports `# devlint: ignore[…]`, `# devlint: ignore-file[…]` and the codes of devlint in a `# noqa: …` that no
    words follow. Turning this rule on is how a project requires reasons.

    ## Why is this bad
    Whoever reads the line next cannot tell an exception that somebody has thought about from a report that
    was in the way.

    ## Example

        x = torch.ones(3, device="cuda:1")  # devlint: ignore[unguarded-cuda-index]

    ## Use instead

        x = torch.ones(3, device="cuda:1")  # devlint: ignore[unguarded-cuda-index] this job always gets two

    ## Fix safety
    There is no fix: only the author knows the reason.

    ## Known limits
    Any words will do. A bare `# noqa` needs none.

    ## PyTorch says
    Nothing: this is about a comment.
    """

    code = "DEV904"
    opt_in = True
    since = "0.1.0"
