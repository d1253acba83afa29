"""`python -m tests.peers FOLDER [PEER …]`: confirm the answers of the table about the peers.

FOLDER receives an environment for each peer, installed with pip, and the samples. Prints one line for each answer
that is not confirmed, and exits with 1 if there is one.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import venv
from pathlib import Path

from tests.peers.samples import write_samples
from tests.peers.table import FEATURES, PEERS, REQUIREMENTS, Run


def install(folder: Path, peer: str) -> Path:
    """Make the environment of a peer, once; returns the folder with its programs."""
    place = folder / peer.lower()
    programs = place / ("Scripts" if os.name == "nt" else "bin")
    if not (place / "installed").exists():
        venv.create(place, with_pip=True)
        subprocess.run([programs / "python", "-m", "pip", "install", "-q", *REQUIREMENTS[peer]], check=True)
        (place / "installed").touch()
    return programs


def complaint(run: Run, programs: Path, samples: Path) -> str:
    """Run a command; says why it does not confirm the answer, "" if it does."""
    words = shlex.split(run.command)
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        words,
        cwd=samples,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    said = re.sub(".\b", "", done.stdout)  # bold letters of a manual page are struck twice
    if run.codes and done.returncode not in run.codes:
        return f"exit code {done.returncode}: {said[-300:]}"
    if run.says and not re.search(run.says, said):
        return f"does not say {run.says}: {said[-300:]}"
    if run.lacks and re.search(run.lacks, said):
        return f"says {run.lacks}"
    return ""


def main(folder: Path, peers: list[str]) -> int:
    """Confirm the answers about some peers."""
    samples = folder / "samples"
    write_samples(samples)
    refuted = confirmed = 0
    for peer in peers:
        programs = install(folder, peer)
        for feature in FEATURES:
            answer = feature.theirs[PEERS.index(peer)]
            for run in answer.runs:
                why = complaint(run, programs, samples)
                if why:
                    refuted += 1
                    print(f"{peer}, {feature.name}: {answer.text!r} is not confirmed by `{run.command}`: {why}")
                else:
                    confirmed += 1
    print(f"{confirmed} commands confirm their answers, {refuted} do not")
    return 1 if refuted else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute(), sys.argv[2:] or list(PEERS)))
