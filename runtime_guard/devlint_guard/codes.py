"""The codes that the guard speaks. Imports nothing.

Where the linter can see the same thing, the code and the name are the linter's; DEV6 is what only a run shows.
"""

from __future__ import annotations

NAMES = {
    "DEV101": "mixed-device-operands",
    "DEV102": "input-not-on-module-device",
    "DEV104": "index-on-other-device",
    "DEV105": "host-access-of-device-tensor",
    "DEV106": "generator-on-other-device",
    "DEV107": "device-tensor-for-cpu-argument",
    "DEV108": "loss-or-metric-state-not-moved",
    "DEV201": "unregistered-tensor-attribute",
    "DEV202": "unregistered-submodules",
    "DEV206": "optimizer-state-before-move",
    "DEV301": "unguarded-cuda",
    "DEV302": "unguarded-cuda-index",
    "DEV303": "invalid-device-string",
    "DEV304": "load-without-map-location",
    "DEV306": "module-has-no-device-attribute",
    "DEV401": "data-parallel-device-ids",
    "DEV402": "distributed-device-ids",
    "DEV403": "collective-on-backend-without-device",
    "DEV501": "sync-in-loop",
    "DEV505": "pin-device-tensor",
    "DEV601": "module-split-across-devices",
    "DEV602": "meta-tensor-in-computation",
    "DEV603": "unexpected-device",
    "DEV604": "implicit-transfer",
    "DEV605": "cuda-in-forked-process",
}
"""The name of each code."""
