"""What the analysis knows, to look at: source with its devices, and how modules and devices relate.

`tints` gives each device its colour; `runs` cuts source lines into stretches of one value, which `terminal` and
`page` print; `journeys` follows modules from device to device, which `tree`, `dot` and `graph_page` draw; `document`
is the frame of every page.
"""
