"""`python -m tests.semantics`: the judged programs that devlint gets wrong, with the figures."""

from __future__ import annotations

import sys

from tests.semantics.comparison import false_alarms, is_found, read_cases, read_unknowable, report


def main() -> int:
    """Returns 1 if a program is reported in vain, or missed without a filed reason."""
    raised = found = content = alarmed = 0
    reasons = read_unknowable()
    unexplained = 0
    for case in read_cases():
        said = report(case)
        if case.verdict == "device-error":
            raised += 1
            if is_found(case, said):
                found += 1
                continue
            unexplained += case.id not in reasons
            print(f"missed: {case.id} line {case.line}: {reasons.get(case.id, case.message)}")
        elif case.verdict == "ok":
            content += 1
            for one in false_alarms(said):
                alarmed += 1
                print(f"in vain: {case.id} line {one.place.line}: {one.code} {one.message}")
    print(f"{found} of {raised} device errors found ({found / raised:.1%})")
    print(f"{alarmed} alarms on {content} sound programs")
    return int(bool(unexplained or alarmed))


if __name__ == "__main__":
    sys.exit(main())
