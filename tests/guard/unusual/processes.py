# mypy: ignore-errors
# ruff: noqa
"""Ends, threads, children, signals and what else a process has. Each part is a program, run behind this head."""

import atexit
import os
import signal
import sys
import threading
import time
import warnings

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(2, 2)


def train(count=5):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(count):
        optimizer.zero_grad()
        loss = net(torch.ones(2, 2)).square().mean()
        loss.backward()
        optimizer.step()
    return loss.item()


# --- exit_inside_of_a_module
class Net(nn.Module):
    def forward(self, x):
        raise SystemExit(4)


Net()(torch.ones(1))

# --- exit_inside_of_inference_mode
atexit.register(lambda: print(torch.is_inference_mode_enabled(), net(torch.ones(1, 2)).shape))
with torch.inference_mode():
    for _ in range(6):
        net(torch.ones(1, 2))
    sys.exit(-1)

# --- exit_at_once
print(train(), flush=True)
os._exit(7)

# --- at_exit_in_order
atexit.register(print, "first registered")
atexit.register(lambda: print("second", train(1)))
train()
threading.Thread(target=lambda: (time.sleep(0.05), print("thread"))).start()
print("main")


# --- an_error_ends_it
def f(n):
    return f(n - 1) if n else net(torch.ones(1, 5))


train(4)
f(3)

# --- a_group_of_errors
if sys.version_info >= (3, 11):
    errors = []
    for size in (3, 4):
        try:
            net(torch.ones(1, size))
        except RuntimeError as error:
            errors.append(error)
    raise ExceptionGroup("several", errors)

# --- a_hook_for_errors
sys.excepthook = lambda kind, error, tb: print("hook", kind.__name__, error)
train(2)
net(torch.ones(1, 7))


# --- interrupted
def work():
    train(4)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)


atexit.register(print, "at exit")
work()


# --- an_interruption_that_is_caught
for _ in range(5):
    try:
        train(1)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
    except KeyboardInterrupt:
        print("interrupted")
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)

# --- ended_by_a_signal
train(4)
sys.stdout.flush()
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(5)

# --- a_handler_that_trains
signal.signal(signal.SIGUSR1, lambda number, frame: print("handler", train(2), frame.f_code.co_name))
for _ in range(4):
    os.kill(os.getpid(), signal.SIGUSR1)
    print(train(1))


# --- a_handler_that_raises_anywhere
def handler(number, frame):
    raise TimeoutError("too long")


signal.signal(signal.SIGVTALRM, handler)
caught = 0
for index in range(40):
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.0005 + index / 20000)
    try:
        while True:
            net(torch.ones(1, 2))
    except TimeoutError as error:
        caught += 1
print(caught, train())

# --- what_main_is
main = sys.modules["__main__"]
print(__name__, os.path.basename(__file__), sys.argv, __package__, __spec__, __doc__, __annotations__)
print(main.__dict__ is globals(), type(__builtins__).__name__, os.path.basename(sys.path[0]), __cached__)
value: int = 3
print(__annotations__, sys.modules["__main__"].value)

# --- nothing_new_in_the_namespace
print(sorted(name for name in globals() if "devlint" in name or "guard" in name), sorted(vars(net)))
print(sorted(name for name in dir(nn.Module) if "guard" in name), sorted(n for n in dir(torch) if "devlint" in n))

# --- filters_of_warnings
before = list(warnings.filters)
train()
print(len(before), before == list(warnings.filters), warnings.showwarning.__name__)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    train()
    print([str(one.message) for one in seen])

# --- options_of_the_interpreter
train()
print(sys.getswitchinterval(), sys.gettrace(), sys.getprofile(), sys.flags.optimize, sys.displayhook.__name__)
print(sys.excepthook is not None, threading.excepthook.__name__, sys.unraisablehook.__name__, sys.stdout.errors)
print(threading.active_count(), threading.current_thread().name, torch.get_num_threads() > 0)

# --- a_profiler_of_the_programs_own
calls = []


def profiler(frame, event, value):
    if event == "call" and frame.f_code.co_filename == __file__:
        calls.append(frame.f_code.co_name)


sys.setprofile(profiler)
train()
sys.setprofile(None)
print(calls)

# --- a_tracer_of_the_programs_own
lines = []


def tracer(frame, event, value):
    if frame.f_code.co_filename == __file__:
        lines.append((frame.f_code.co_name, frame.f_lineno, event))
        return tracer


sys.settrace(tracer)
train(4)
sys.settrace(None)
print(lines)

# --- threads_that_train
results = {}


def work(name):
    own = nn.Linear(2, 2)
    nn.init.ones_(own.weight)
    nn.init.zeros_(own.bias)
    optimizer = torch.optim.SGD(own.parameters(), lr=0.1)
    for _ in range(5):
        own(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    results[name] = own.weight.tolist()


threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
[one.start() for one in threads]
train()
[one.join() for one in threads]
print(sorted(results.items()))

# --- a_thread_whose_error_is_printed
threading.excepthook = lambda args: print("in a thread:", args.exc_type.__name__, args.exc_value)
thread = threading.Thread(target=lambda: net(torch.ones(1, 9)))
train()
thread.start()
thread.join()


# --- a_thread_that_outlives_the_program
def work():
    time.sleep(0.1)
    with torch.inference_mode():
        print([net(torch.ones(1, 2)).shape for _ in range(5)])


threading.Thread(target=work).start()
print(train())

# --- variables_of_a_context
import contextvars

variable = contextvars.ContextVar("variable", default=0)


class Net(nn.Module):
    def forward(self, x):
        variable.set(variable.get() + 1)
        return x


module = Net()
for _ in range(5):
    module(torch.ones(1))
context = contextvars.copy_context()
context.run(module, torch.ones(1))
print(variable.get(), context[variable])

# --- a_fork_that_goes_on
train(2)
sys.stdout.flush()
child = os.fork()
if child == 0:
    print("child", train(4))
    sys.stdout.flush()
    os._exit(5)
print("parent", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), train(3))

# --- a_fork_inside_of_inference_mode
with torch.inference_mode():
    [net(torch.ones(1, 2)) for _ in range(6)]
    sys.stdout.flush()
    child = os.fork()
    print("child" if child == 0 else os.waitpid(child, 0)[1], net(torch.ones(1, 2)).shape)
print(train(), child == 0)
if child == 0:
    sys.stdout.flush()
    os._exit(0)

# --- workers_of_a_loader
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        return torch.full((2,), float(index)), {"index": index}


for workers in (0, 2):
    for rows, kept in DataLoader(Rows(), batch_size=2, num_workers=workers):
        print(rows.tolist(), kept["index"].tolist(), net(rows).shape)
print(train())

# --- another_program_is_run_inside
import runpy

with open("other.py", "w") as file:
    file.write(
        "import sys, torch\nprint(__name__, sys.argv[0], torch.nn.Linear(2, 2)(torch.ones(1, 2)).shape)\nx = 3\n"
    )
for _ in range(4):
    print(runpy.run_path("other.py", run_name="__main__")["x"])
print(sys.modules["__main__"].__dict__ is globals(), train())

# --- code_that_is_executed_from_text
for _ in range(4):
    exec(compile("result = net(torch.ones(1, 2)).shape", "<made up>", "exec"))
    print(result, eval("train(1)"))
exec("net(torch.ones(1, 5))")

# --- output_that_is_redirected
import contextlib
import io

text = io.StringIO()
with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
    print(train())
    warnings.warn("seen")
print(len(text.getvalue().splitlines()))

# --- logging_tells_the_line
import logging


class Net(nn.Module):
    def forward(self, x):
        logging.warning("from forward")
        logging.getLogger("own").warning("the caller's", stacklevel=4)
        return x


logging.basicConfig(format="%(name)s %(funcName)s:%(lineno)d %(message)s")
for _ in range(5):
    Net()(torch.ones(1))
