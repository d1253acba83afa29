"""The judge's command line: runs one program and prints its verdict as a JSON object."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path
from typing import get_args

from tests.judge import Judge, Variant, supported


def main() -> int:
    """Returns 0 for a program that ran through, 1 for any other outcome, 2 where the judge does not work."""
    parser = argparse.ArgumentParser(prog="python -m tests.judge", description=__doc__)
    program = parser.add_mutually_exclusive_group(required=True)
    program.add_argument("file", nargs="?", type=Path, metavar="FILE")
    program.add_argument("-c", dest="code", metavar="CODE", help="the program's text")
    parser.add_argument("--devices", type=int, default=4, metavar="N", help="CUDA devices (default: 4)")
    parser.add_argument("--variant", choices=get_args(Variant), default="cuda", help="whether there are devices at all")
    parser.add_argument("--call", metavar="NAME", help="call this function of the program")
    parser.add_argument("--timeout", type=float, default=60, metavar="SECONDS")
    options = parser.parse_args()
    reason = supported()
    if reason is not None:
        print(reason, file=sys.stderr)
        return 2
    with Judge() as judge:
        verdict = judge.run(
            options.code,
            file=options.file,
            devices=options.devices,
            variant=options.variant,
            timeout=options.timeout,
            call=options.call,
        )
    print(json.dumps(dataclasses.asdict(verdict), indent=1))
    return int(verdict.outcome != "ok")


if __name__ == "__main__":
    sys.exit(main())
