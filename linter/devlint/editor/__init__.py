"""The language server, `devlint server`: diagnostics, hovers, hints and fixes while you type; needs pygls.

`options` are the client's settings; `documents` are the open texts; `analyses` keeps the last analysis of each and
decides which is next; `worker` is the process that analyses; `texts` finds the places of an analysis in the text as it
is now; `answers` words diagnostics, hovers, hints and actions; `server` speaks the protocol.
"""
