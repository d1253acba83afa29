"""What the calls of a function hand over, and which reports that decides.

An execution of a function body cannot know its callers. It records a fact together with its *doubts*: for

    def scale(x):
        return x * torch.ones(3)

the fact is that `x` meets a CPU tensor, and the doubt is the parameter `x`. `callers` collects what every call of
`scale` in the project hands over. A call with a tensor on an accelerator settles the doubt, and the report shows this
call.

From the bottom up:

* `callers`: keeps what all calls hand over, as `summary.handed_over` computes it for each, and settles doubts.
* `missed`: moves whose result is thrown away, and the later operations that need the result.
* `recorder`: the facts of each file, and their doubts.
* `listening`: the other files that have to be analysed before a doubt is decided.
"""
