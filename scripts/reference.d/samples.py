"""Runs the samples as printed."""
import re
import time

# In the order of the modules' needs.
ORDER = ["engine", "people", "notification", "accounts", "ledger", "establishments", "badges",
         "coupons", "payouts", "missions", "surveys", "reports", "news", "inquiries", "votes",
         "household"]


def run(ground, setup, functions, modules):
    """Runs the samples of the modules, or of all; returns what failed."""
    ground.script(setup)
    ground.work()
    faults = []
    place = {module: number for number, module in enumerate(ORDER)}
    # Stable: within a module, the order of the files.
    for function in sorted(functions, key=lambda f: place.get(f.module, len(place))):
        if modules and function.module not in modules or not function.comment.sample:
            continue
        if error := _attempt(ground, function):
            faults.append(f"{function.title}: the sample fails\n{error}")
    return faults


def _attempt(ground, function):
    deadline = time.monotonic() + 60
    while True:
        error = ground.attempt(function.login, function.comment.sample)
        # As its documentation tells programs to do.
        if not error or not re.search(r"\bRU002\b", error) or time.monotonic() > deadline:
            return error
        time.sleep(0.5)
