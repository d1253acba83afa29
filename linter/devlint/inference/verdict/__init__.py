"""The verdict on a finding: the code of its rule, its certainty, and the report.

`codes` maps the kind and the participants of a broken requirement to the code of a rule, and the entry to a certainty.
`reports` makes one diagnostic for each place and code, with the devices of the two participants in its message.
This is the only package that names rules and levels of certainty.

Worked example. Two tensors differ in every world, so a program certainly fails:

    >>> from devlint.inference.values.data import CLIENT, SHARE, Finding, Participant, Place, Requirement
    >>> from devlint.inference.values.tensors import CPU, device
    >>> from devlint.inference.verdict.codes import certainty_of, code_of
    >>> one, two = Participant("tensor", device("cuda:0")), Participant("tensor", CPU)
    >>> finding = Finding(Requirement(SHARE, "+", (one, two), (), Place("a.py", 2, 0), "a:"), one, two)
    >>> code_of(finding), certainty_of(finding).value
    ('DEV101', 'certain')

If only a client gets there, the project may never use the class like this, so the report is only possible:

    >>> certainty_of(finding._replace(entry=CLIENT)).value
    'possible'
"""
