"""The table that compares devlint with its peers: each answer, and how to find out whether it is true."""

from __future__ import annotations

from dataclasses import dataclass

PEERS = ("ruff", "Fixit", "TorchFix", "pylint", "semgrep", "pyright")

REQUIREMENTS = {
    "ruff": ("ruff==0.17.6",),
    "Fixit": ("fixit==2.2.1",),
    "TorchFix": ("torchfix==0.7.0",),
    "pylint": ("pylint==4.1.4",),
    "semgrep": ("semgrep==1.182.0",),
    "pyright": ("pyright==1.1.414",),
}
"""What to install for each."""


@dataclass(frozen=True, slots=True)
class Run:
    """One command, and what shows that the answer is true.

    Attributes:
        command: run in the folder with the samples; the program is looked up in the peer's environment.
        codes: the exit codes that confirm it; empty for any.
        says: a regular expression that the output has; "" for any output.
        lacks: a regular expression that the output does not have; "" for none.
    """

    command: str
    codes: tuple[int, ...] = ()
    says: str = ""
    lacks: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """One cell: a few words, and the commands that confirm them."""

    text: str
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Feature:
    """One row.

    Attributes:
        name: what is asked.
        ours: devlint's answer.
        tests: the tests that confirm it, as `file::name`.
        theirs: the answers of the peers, in the order of `PEERS`.
    """

    name: str
    ours: str
    tests: tuple[str, ...]
    theirs: tuple[Answer, ...]


def yes(*runs: Run, text: str = "yes") -> Answer:
    """An answer in the affirmative."""
    return Answer(text, runs)


def no(*runs: Run, text: str = "no") -> Answer:
    """An answer in the negative."""
    return Answer(text, runs)


def _no_word(command: str, word: str) -> Answer:
    """No, as the help of the command does not have the word."""
    return no(Run(command, lacks=word))


_RUFF_FORMATS = "ruff check --help"
_PYRIGHT_HELP = "pyright --help"
_TORCHFIX_HELP = "torchfix --help"
_FIXIT_HELP = "fixit lint --help"
_SEMGREP_HELP = "semgrep scan --help"

FEATURES = (
    Feature(
        "reports tensors on two devices",
        "yes",
        ("tests/test_showcase.py::test_every_kind_of_mistake_is_reported",),
        (
            no(Run("ruff check --isolated --preview --select ALL mixed.py", lacks=r"mixed\.py:4")),
            no(Run("fixit lint mixed.py", codes=(0,))),
            no(Run("torchfix --select ALL mixed.py", lacks=r"mixed\.py:4")),
            no(Run("pylint --enable=all --disable=C mixed.py", lacks=r"mixed\.py:4")),
            no(
                Run(
                    "semgrep scan --metrics=off --config devices.yaml mixed.py same.py", says=r"(?s)mixed\.py.*same\.py"
                ),
                text="no, not even with rules of your own",
            ),
            no(Run("pyright mixed.py", lacks=r"mixed\.py:4")),
        ),
    ),
    Feature(
        "exits with 1 when it has reported something",
        "yes",
        ("tests/cli/test_check.py::test_exit_code_follows_the_worst_that_is_reported",),
        (
            yes(Run("ruff check --isolated found.py", codes=(1,), says="F401")),
            yes(Run("fixit lint clean.py", codes=(0,))),
            no(Run("torchfix found.py", codes=(0,), says="TOR")),
            yes(Run("pylint found.py", codes=tuple(range(1, 32)), says="W0611"), text="yes, as a bit mask"),
            no(Run("semgrep scan --metrics=off --config rules.yaml found.py", codes=(0,), says="no-eval")),
            yes(Run("pyright found.py", codes=(1,), says="error")),
        ),
    ),
    Feature(
        "a path that does not exist is an error",
        "yes",
        ("tests/cli/test_bad_input.py::test_a_missing_path_does_not_hide_the_others",),
        (
            yes(Run("ruff check --isolated gone.py", codes=(1,), says="E902")),
            no(Run("fixit lint gone.py", codes=(0,))),
            no(Run("torchfix gone.py", codes=(0,))),
            yes(Run("pylint gone.py", codes=(1,), says="F0001")),
            yes(Run("semgrep scan --metrics=off --config rules.yaml gone.py", codes=(2,))),
            yes(Run("pyright gone.py", codes=(1, 4))),
        ),
    ),
    Feature(
        "an unknown rule is an error",
        "yes, and names similar rules",
        ("tests/cli/test_bad_input.py::test_an_unknown_rule_on_the_command_line",),
        (
            yes(Run("ruff check --isolated --select XYZ999 clean.py", codes=(2,))),
            no(Run("fixit lint fixit/a.py", codes=(0,))),
            no(Run("torchfix --select TOR999 clean.py", codes=(0,))),
            no(Run("pylint --disable=no-such-rule clean.py", says="W0012"), text="a warning"),
            yes(Run("semgrep scan --metrics=off --config no-such-file.yaml found.py", codes=(7,))),
            no(Run("pyright -p pyright", codes=(0,), says="reportNoSuchThing"), text="a remark"),
        ),
    ),
    Feature(
        "a file that is nested too deeply does not stop the check of other files",
        "yes",
        ("tests/cli/test_bad_input.py::test_chains_that_only_some_pythons_refuse_are_no_crash",),
        (
            yes(Run("ruff check --isolated deep", codes=(1,), says=r"found\.py:1|deep/found\.py")),
            no(Run("fixit lint deep", says="RecursionError")),
            yes(Run("torchfix deep", says=r"found\.py.*TOR")),
            yes(Run("pylint deep/deep.py deep/found.py", says=r"found\.py:1.*W0611")),
            yes(Run("semgrep scan --metrics=off --config rules.yaml deep", says=r"found\.py")),
            yes(Run("pyright deep", says=r"found\.py")),
        ),
    ),
    Feature(
        "fixes, which it can show as a diff first",
        "safe and unsafe",
        ("tests/cli/test_fix.py::test_diff_prints_a_patch_and_writes_nothing",),
        (
            yes(Run(_RUFF_FORMATS, says=r"--diff"), Run(_RUFF_FORMATS, says="--unsafe-fixes"), text="safe and unsafe"),
            yes(Run(_FIXIT_HELP, says="--diff")),
            yes(Run(_TORCHFIX_HELP, says="--fix"), text="fixes, no diff"),
            _no_word("pylint --long-help", r"--fix"),
            yes(Run(_SEMGREP_HELP, says="--autofix")),
            _no_word(_PYRIGHT_HELP, r"--fix"),
        ),
    ),
    Feature(
        "reports comments that silence nothing",
        "yes, and removes them",
        (
            "tests/cli/test_suppressions.py::test_an_idle_comment_is_reported_where_it_stands",
            "tests/cli/test_suppressions.py::test_fix_removes_what_is_idle_and_nothing_else",
        ),
        (
            yes(
                Run("ruff check --isolated --select RUF100 idle.py", codes=(1,), says="RUF100"),
                text="yes, and removes them",
            ),
            no(Run("fixit lint idle.py", codes=(0,))),
            no(Run("torchfix --select ALL idle.py", lacks="noqa")),
            yes(Run("pylint --enable=useless-suppression idle.py", says="I0021")),
            no(Run("semgrep scan --metrics=off --config rules.yaml idle.py", codes=(0,), lacks="unused")),
            yes(Run("pyright -p idle-pyright", codes=(1,), says="Unnecessary")),
        ),
    ),
    Feature(
        "reasons of suppressions can be required",
        "yes",
        ("tests/cli/test_suppressions.py::test_reasons_can_be_required",),
        (
            _no_word(_RUFF_FORMATS, "require-reason"),
            _no_word(_FIXIT_HELP, "reason"),
            _no_word(_TORCHFIX_HELP, "reason"),
            _no_word("pylint --long-help", "require.*reason"),
            _no_word(_SEMGREP_HELP, "require.*reason"),
            _no_word(_PYRIGHT_HELP, "reason"),
        ),
    ),
    Feature(
        "baseline that survives shifted lines",
        "yes",
        ("tests/cli/test_baseline.py::test_unrelated_lines_and_a_new_order_change_nothing",),
        (
            _no_word(_RUFF_FORMATS, "baseline"),
            _no_word(_FIXIT_HELP, "baseline"),
            _no_word(_TORCHFIX_HELP, "baseline"),
            _no_word("pylint --long-help", "baseline"),
            no(Run(_SEMGREP_HELP, says="--baseline-commit"), text="by commit"),
            _no_word(_PYRIGHT_HELP, "baseline"),
        ),
    ),
    Feature(
        "excludes files by an option",
        "yes",
        ("tests/cli/test_choosing_files.py::test_extend_exclude_stands_beside_them",),
        (
            yes(Run(_RUFF_FORMATS, says="--extend-exclude")),
            _no_word(_FIXIT_HELP, "exclude"),
            _no_word(_TORCHFIX_HELP, "exclude"),
            yes(Run("pylint --long-help", says="--ignore-paths")),
            yes(Run(_SEMGREP_HELP, says="--exclude")),
            _no_word(_PYRIGHT_HELP, "exclude"),
        ),
    ),
    Feature(
        "new reports only",
        "yes, since a commit",
        ("tests/cli/test_diff_base.py::test_a_report_of_the_commit_is_not_new",),
        (
            _no_word(_RUFF_FORMATS, "baseline|changed lines|diff-base"),
            _no_word(_FIXIT_HELP, "baseline|changed lines|diff-base"),
            _no_word(_TORCHFIX_HELP, "baseline|changed lines|diff-base"),
            _no_word("pylint --long-help", "baseline|changed lines|diff-base"),
            yes(Run(_SEMGREP_HELP, says="--baseline-commit"), text="yes, since a commit"),
            _no_word(_PYRIGHT_HELP, "baseline|changed lines|diff-base"),
        ),
    ),
    Feature(
        "writes suppressions for its reports",
        "yes, with a reason",
        ("tests/cli/test_add_ignore.py::test_each_report_gets_a_comment_and_the_next_run_is_silent",),
        (
            yes(Run(_RUFF_FORMATS, says="--add-noqa")),
            _no_word(_FIXIT_HELP, "add-|suppress"),
            _no_word(_TORCHFIX_HELP, "add-|suppress"),
            _no_word("pylint --long-help", "--add-"),
            _no_word(_SEMGREP_HELP, "--add-|suppress"),
            _no_word(_PYRIGHT_HELP, "--add-|suppress"),
        ),
    ),
    Feature(
        "SARIF",
        "yes, with the steps by which each value got its device",
        ("tests/report/test_formats.py::test_sarif_tells_the_story_of_each_value_to_the_place_where_they_meet",),
        (
            yes(Run(_RUFF_FORMATS, says="sarif")),
            _no_word(_FIXIT_HELP, "sarif"),
            _no_word(_TORCHFIX_HELP, "sarif"),
            _no_word("pylint --long-help", "sarif"),
            yes(Run(_SEMGREP_HELP, says="--sarif")),
            _no_word(_PYRIGHT_HELP, "sarif"),
        ),
    ),
    Feature(
        "GitHub, GitLab, JUnit",
        "all three",
        ("tests/cli/test_formats.py::test_every_format_has_every_diagnostic_even_of_a_file_with_a_hostile_name",),
        (
            yes(Run(_RUFF_FORMATS, says=r"(?s)github.*gitlab|gitlab.*github"), text="all three"),
            _no_word(_FIXIT_HELP, "github|gitlab|junit"),
            _no_word(_TORCHFIX_HELP, "github|gitlab|junit"),
            yes(Run("pylint --help", says="github"), text="GitHub"),
            yes(
                Run(_SEMGREP_HELP, says=r"--gitlab-sast"), Run(_SEMGREP_HELP, says="--junit-xml"), text="GitLab, JUnit"
            ),
            _no_word(_PYRIGHT_HELP, "github|gitlab|junit"),
        ),
    ),
    Feature(
        "counts by rule",
        "yes",
        ("tests/cli/test_formats.py::test_statistics_count_by_rule",),
        (
            yes(Run(_RUFF_FORMATS, says="--statistics")),
            _no_word(_FIXIT_HELP, "--statistics"),
            _no_word(_TORCHFIX_HELP, "--statistics"),
            yes(Run("pylint --help", says="--reports")),
            _no_word(_SEMGREP_HELP, "--statistics"),
            _no_word(_PYRIGHT_HELP, "--statistics"),
        ),
    ),
    Feature(
        "texts of the rules on the command line",
        "yes",
        ("tests/cli/test_commands.py::test_explain_takes_code_and_name_in_any_case",),
        (
            yes(Run("ruff rule F401", codes=(0,), says="unused-import")),
            _no_word("fixit --help", "explain"),
            _no_word(_TORCHFIX_HELP, "explain"),
            yes(Run("pylint --help-msg=unused-import", codes=(0,), says="W0611")),
            _no_word("semgrep --help", "explain"),
            _no_word(_PYRIGHT_HELP, "explain"),
        ),
    ),
    Feature(
        "rules of other packages",
        "yes",
        ("tests/rules/test_other_packages.py::test_its_reports_stand_beside_those_of_devlint",),
        (
            _no_word(_RUFF_FORMATS, "plugin"),
            yes(Run("fixit --help", says=r"test +test lint rules")),
            _no_word(_TORCHFIX_HELP, "plugin"),
            yes(Run("pylint --long-help", says="--load-plugins")),
            yes(Run("semgrep scan --metrics=off --config rules.yaml found.py", codes=(0,), says="no-eval")),
            _no_word(_PYRIGHT_HELP, "plugin"),
        ),
    ),
    Feature(
        "standard input",
        "yes",
        ("tests/cli/test_check.py::test_standard_input_stands_for_a_file",),
        (
            yes(Run(_RUFF_FORMATS, says="--stdin-filename")),
            yes(Run("fixit lint --help", says=r"PATHS")),
            _no_word(_TORCHFIX_HELP, "stdin"),
            yes(Run("pylint --long-help", says="--from-stdin")),
            yes(Run("sh -c 'semgrep scan --metrics=off --config rules.yaml - < found.py'", says="no-eval")),
            _no_word(_PYRIGHT_HELP, "standard input"),
        ),
    ),
    Feature(
        "watches files",
        "yes",
        ("tests/cli/test_terminal.py::test_watch_checks_again_until_ctrl_c",),
        (
            yes(Run(_RUFF_FORMATS, says="--watch")),
            _no_word(_FIXIT_HELP, "watch"),
            _no_word(_TORCHFIX_HELP, "watch"),
            _no_word("pylint --long-help", "--watch"),
            _no_word(_SEMGREP_HELP, "--watch"),
            yes(Run(_PYRIGHT_HELP, says="--watch")),
        ),
    ),
    Feature(
        "notebooks",
        "yes, state carried from cell to cell",
        ("tests/sources/test_notebook.py::test_state_is_carried_from_cell_to_cell",),
        (
            yes(Run("ruff check --isolated --select F401 book.ipynb", codes=(1,), says="F401")),
            no(Run("fixit lint book.ipynb", codes=(0,))),
            no(Run("torchfix book.ipynb", lacks="TOR[0-9]")),
            no(Run("pylint book.ipynb", lacks="W0611")),
            no(Run("semgrep scan --metrics=off --config rules.yaml book.ipynb", lacks="no-eval")),
            no(Run("pyright book.ipynb", lacks="reportUnusedImport")),
        ),
    ),
    Feature(
        "language server",
        "yes, with an extra",
        ("tests/editor/test_server.py::test_what_is_typed_is_reported_though_nothing_is_saved",),
        (
            yes(Run("ruff server --help", codes=(0,))),
            yes(Run("fixit --help", says="lsp"), text="yes, with an extra"),
            _no_word(_TORCHFIX_HELP, "lsp|language server"),
            _no_word("pylint --long-help", "lsp|language server"),
            yes(Run("semgrep lsp --help", codes=(0,))),
            yes(Run("pyright-langserver --help", lacks="not found")),
        ),
    ),
)


def as_markdown() -> str:
    """Return the table as it stands on the page of the tests."""
    rows = [["", "devlint", *PEERS], ["---"] * (len(PEERS) + 2)]
    rows += [[feature.name, feature.ours, *(answer.text for answer in feature.theirs)] for feature in FEATURES]
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)
