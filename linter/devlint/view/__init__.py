"""What the analysis knows, to look at: source with its devices, and how modules and devices relate.

`tints` gives each device its colour; `runs` cuts source lines into stretches of one value; `terminal` and `page`
print them; `document` is the frame of every page.
"""
