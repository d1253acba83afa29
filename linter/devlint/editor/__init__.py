"""The language server, `devlint server`: what is found, as you type; needs pygls, which `devlint[editor]` brings along.

`options` are the client's settings; `texts` turns places into positions of the protocol; `analyses` keeps what is known
of the open documents; `answers` words hovers, hints and actions; `server` speaks the protocol.
"""
