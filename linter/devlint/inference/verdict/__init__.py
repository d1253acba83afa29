"""The verdict on a finding: the code of its rule, its certainty, and the report.

`codes` maps the kind and the participants of a broken requirement to the code of a rule. `levels` maps the entry to a
level of certainty. `reports` makes one diagnostic for each place and code, with the devices of the two participants in
its message.
This is the only package that names rules and levels of certainty.

Worked example. Two tensors differ in every world, so a program certainly fails:

    >>> from devlint.inference.values.data import OF_MODULE, SHARE, Finding, Participant, Place, Requirement
    >>> from devlint.inference.values.tensors import CPU, device
    >>> from devlint.inference.verdict.codes import code_of
    >>> from devlint.inference.verdict.levels import level_of
    >>> one, two = Participant("tensor", device("cuda:0")), Participant("tensor", CPU)
    >>> finding = Finding(Requirement(SHARE, "+", (one, two), (), Place("a.py", 2, 0), "a:"), one, two)
    >>> code_of(finding), level_of(finding)
    ('DEV101', 'certain')

If only a client of a class of modules gets there, the report is likely where the project asks for such a use:

    >>> level_of(finding._replace(entry=OF_MODULE)), level_of(finding._replace(entry=OF_MODULE, is_wanted=False))
    ('likely', 'possible')
"""
