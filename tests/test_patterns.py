"""Patterns mean what git says they mean, and no pattern takes long."""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from devlint import engine
from devlint.patterns import LONGEST_PATTERN, MOST_PATTERNS, Patterns
from devlint.settings import Settings
from hypothesis import given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from tests.robustness.commands import MIXED


@pytest.mark.parametrize(
    ("lines", "mentioned", "others"),
    [
        ("foo", "foo foo/ a/foo foo/a", "food a/food"),
        ("foo/", "foo/ a/foo/ foo/a", "foo a/foo"),
        ("/foo", "foo foo/a", "a/foo"),
        ("a/foo", "a/foo a/foo/b", "b/a/foo"),
        ("*.py", "a.py a/b.py .py", "a.pyc"),
        ("a*b/c", "ab/c axb/c", "a/b/c axb/d"),
        ("**/foo", "foo a/foo a/b/foo", "a/xfoo"),
        ("foo/**", "foo/a foo/a/b", "foo foo/ b/foo/a"),
        ("a/**/b", "a/b a/x/b a/x/y/b", "ab a/xb"),
        ("a/***/b", "a/b a/x/b", "ab"),
        ("a**b", "ab axb x/ab", "a/b"),
        ("?.py", "a.py b/a.py", "ab.py .py"),
        ("[a-c].py", "a.py c.py", "d.py"),
        ("[!a-c].py", "d.py", "a.py"),
        ("[^a].py", "b.py", "a.py"),
        ("[]a].py", "].py a.py", "b.py"),
        ("[a-].py", "a.py -.py", "b.py"),
        (r"[\]].py", "].py", "a.py"),
        ("[[:digit:]x].py", "1.py x.py", "a.py"),
        ("[b-a].py", "b.py", "a.py c.py"),
        ("[[:none:]].py", "", "a.py"),
        ("[a.py", "", "a.py [a.py"),
        (r"\#a", "#a", "a"),
        (r"\!a", "!a", "a"),
        ("#a", "", "a #a"),
        ("/", "", "a a/"),
        ("/**", "a a/b", ""),
        ("*|!*/|!*.py", "a.txt a/b.txt", "a.py a/b.py a/"),
        ("a/**|!a/keep.py", "a/b.py", "a/ a/keep.py"),
        ("a/|!a/keep.py", "a/b.py a/keep.py", "b/a"),
        ("*.py|!b.py|b.py", "a.py b.py", "a"),
    ],
)
def test_the_notation(lines: str, mentioned: str, others: str) -> None:
    patterns = Patterns(lines.split("|"))
    assert [name for name in mentioned.split() if not patterns.covers(name)] == []
    assert [name for name in others.split() if patterns.covers(name)] == []


def test_spaces_at_the_end_count_if_a_backslash_protects_them() -> None:
    assert Patterns(["a  "]).covers("a")
    assert Patterns([r"a\ "]).covers("a ")
    assert Patterns([r"a\  "]).covers("a ")
    assert Patterns([r"a\\ "]).covers("a\\")
    assert Patterns([" a"]).covers(" a")
    assert not Patterns(["a\nb"]).covers("a")


@pytest.mark.parametrize("line", ["!", "a\\", "x" * (LONGEST_PATTERN + 1)])
def test_what_is_no_pattern(line: str) -> None:
    with pytest.raises(ValueError, match="pattern"):
        Patterns([line])


def test_a_file_has_a_bounded_number_of_patterns() -> None:
    Patterns(["#"] * MOST_PATTERNS * 2)
    with pytest.raises(ValueError, match="more than"):
        Patterns(["a"] * (MOST_PATTERNS + 1))


# --- the same as others -------------------------------------------------------------------------------------


@given(st.text("ab*?.", min_size=1, max_size=12), st.text("ab.", min_size=1, max_size=12))
def test_a_part_fits_as_for_fnmatch(pattern: str, name: str) -> None:
    assert Patterns([pattern]).covers(name) == fnmatchcase(name, pattern)


_PARTS = st.sampled_from(["a", "b", "ab", "*", "a*", "*b", "?", "[ab]", "[!a]", "**"])
_PATTERN = st.lists(_PARTS, min_size=1, max_size=6).map("/".join)


@given(_PATTERN, st.booleans(), st.lists(st.sampled_from(["a", "b", "ab", "ba"]), min_size=1, max_size=7))
def test_a_path_fits_as_for_pathspec(pattern: str, anchored: bool, path: list[str]) -> None:
    line = f"/{pattern}" if anchored else pattern
    name = "/".join(path)
    assert Patterns([line]).covers(name) == GitIgnoreSpec.from_lines([line]).match_file(name)


ATOMS = (
    r"a b c * ** ? / / **/ /** [ab] [!a] [^b-c] []a] \a \* ! # . - [[:alpha:]] [a-] [b-a] [--a] [[:x:]] [a[]".split()
)
ATOMS += [" ", r"\ "]
NAMES = ("a", "b", "c", "ab", "ba", "abc", "a*", "*", "]", "-", "[", "#a", "!a", " a", "a ", "[:")


def _is_accident(line: str) -> bool:
    """Whether git itself answers by chance: two slashes, or two stars beside other characters (its `wildmatch.c`
    compares pointers into pattern and text there).
    """
    return "//" in line or ("/" in line and any("**" in part and part.strip("*") for part in line.split("/")))


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize("number", [150, pytest.param(5000, marks=pytest.mark.long)])
def test_lists_of_patterns_mean_what_git_says(tmp_path: Path, number: int) -> None:
    rng = random.Random(number)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    asked: list[tuple[list[str], str, str, bool]] = []
    for case in range(number):
        lines = ["".join(rng.choices(ATOMS, k=rng.randint(1, 6))) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
        try:
            patterns = Patterns(lines)
        except ValueError:
            continue
        if any(map(_is_accident, lines)):
            continue
        folder = tmp_path / str(case)
        folder.mkdir()
        (folder / ".gitignore").write_text("\n".join(lines) + "\n")
        for _ in range(10):
            name = "/".join(rng.choices(NAMES, k=rng.randint(1, 4)))
            is_folder = rng.random() < 0.5
            try:
                (folder / name if is_folder else (folder / name).parent).mkdir(parents=True, exist_ok=True)
                if not is_folder:
                    (folder / name).touch(exist_ok=False)
            except OSError:  # a file is where a folder should be
                continue
            asked.append((lines, name, f"{case}/{name}", patterns.covers(f"{name}/" if is_folder else name)))
    listed = "".join(f"{path}\0" for _, _, path, _ in asked)
    command = ["git", "check-ignore", "--stdin", "-z", "--no-index"]
    done = subprocess.run(command, cwd=tmp_path, input=listed, stdout=subprocess.PIPE, text=True, check=True)
    ignored = set(done.stdout.split("\0"))
    assert len(asked) > 4 * number
    assert len(ignored) > number // 2
    wrong = [(lines, name, covers) for lines, name, path, covers in asked if covers != (path in ignored)]
    assert wrong == []


# --- no pattern takes long ----------------------------------------------------------------------------------

GROWING = {
    "stars": ("a*", "b", "a"),
    "stars first": ("*a", "*b", "a"),
    "stars and marks": ("?*", "b", "a"),
    "stars and brackets": ("[ab]*", "c", "ab"),
    "longer pieces": ("*aaab", "c", "a"),
    "folders": ("**/a/", "b", "a/"),
    "folders with stars": ("**/*a*/", "b", "aaa/"),
    "two stars": ("a**", "b", "a"),
}


@pytest.mark.parametrize("kind", GROWING)
def test_time_does_not_explode_with_the_number_of_stars(kind: str) -> None:
    piece, end, letter = GROWING[kind]
    number = LONGEST_PATTERN // len(piece) // 4
    patterns = Patterns([piece * number + end])
    start = time.process_time()
    assert not patterns.covers((letter * 2000)[:2000].rstrip("/"))
    assert time.process_time() - start < 20  # measured: 2 s for folders, hundredths for the others


@pytest.mark.parametrize("place", ["exclude", "per-file-ignores", ".gitignore"])
def test_sixteen_stars_in_a_repository_cost_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    stars = "a*" * 16 + "b"
    (tmp_path / f"{'a' * 200}.py").write_text(MIXED)
    if place == ".gitignore":
        (tmp_path / place).write_text(f"{stars}\n")
        (tmp_path / ".git").mkdir()
    else:
        value = f'{{"{stars}" = ["ALL"]}}' if place == "per-file-ignores" else f'["{stars}"]'
        (tmp_path / "devlint.toml").write_text(f'select = ["DEV101"]\n{place} = {value}\n')
    start = time.process_time()
    run = engine.run(Settings((".",), force_exclude=True))
    assert "DEV101" in {one.code for one in run.outcome.diagnostics}
    assert time.process_time() - start < 20
