"""What the analysis knows, to look at: source with its devices.

`tints` gives each device its colour; `runs` cuts source lines into stretches of one value, which `terminal` and
`page` print; `document` is the frame of the page.
"""
