"""Requirements: what operations demand of their participants, and who finds that it is broken.

`make` says what an operation demands. `judge` compares the devices: two that differ in every world make the requirement
*manifest*. Where a symbol is left, the requirement is *latent*: the summary hands it to each caller, `propagate` puts
in the caller's values, and it is judged again there.
"""
