"""Computes the figures of an establishment's report from plain rows, for tests of report.csv.

Reads one JSON document and prints a line per figure: section|branch|survey|version|question|item|
measure|value. Written from the specification alone; it shares nothing with the SQL.
"""
import json
import statistics
import sys
from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction


def says(answer):
    """Whether an answer says something: no list or text without content."""
    return answer is not None and answer != [] and (not isinstance(answer, str) or answer.strip())


def rounded(value, places):
    value = Fraction(value)
    number = Decimal(value.numerator) / Decimal(value.denominator)
    text = format(number.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def main():
    world = json.load(sys.stdin)
    start, end = world["from"], world["until"]
    sharing = set(world["sharing"]) - set(world["blocked"])
    lines = []

    def emit(section, branch, survey, version, question, item, measure, value):
        parts = (section, branch, survey, version, question, item, measure, value)
        lines.append("|".join("" if part is None else str(part) for part in parts))

    def inside(moment):
        return start <= moment < end

    done = [c for c in world["completions"]
            if inside(c["at"]) and c["person"] in sharing and c["state"] != "rejected"]
    sent = [i for i in world["invitations"] if i["person"] in sharing]
    branches = [None] + world["branches"]
    if any(row["branch"] is None and (row in done or inside(row.get("invited", end))
           or (row.get("state") in ("open", "expired") and inside(row.get("expires", end))))
           for row in done + sent):
        branches.append(0)

    def here(row, branch):
        return branch is None or (row["branch"] or 0) == branch

    for branch in branches:
        given = sum(here(i, branch) and inside(i["invited"]) for i in sent)
        expired = sum(here(i, branch) and inside(i["expires"])
                      and i["state"] in ("open", "expired") for i in sent)
        mine = [c for c in done if here(c, branch)]
        emit("summary", branch, None, None, None, None, "given", given)
        emit("summary", branch, None, None, None, None, "completed", len(mine))
        emit("summary", branch, None, None, None, None, "expired", expired)
        if len(mine) + expired:
            emit("summary", branch, None, None, None, None, "completion_rate",
                 rounded(Fraction(len(mine), len(mine) + expired), 4))
        if mine:
            middle = statistics.median([Fraction(c["seconds"], 60) for c in mine])
            emit("summary", branch, None, None, None, None, "median_minutes", rounded(middle, 2))

    for question in world["questions"]:
        asked = [c for c in done if (c["survey"], c["version"])
                 == (question["survey"], question["version"])]
        for branch in branches:
            said = [c["answers"][str(question["number"])] for c in asked
                    if here(c, branch) and says(c["answers"].get(str(question["number"])))]
            if not said:
                continue
            name = (branch, question["survey"], question["version"], question["number"])
            emit("answer", *name, None, "answered", len(said))
            if question["kind"] == "rating":
                emit("answer", *name, None, "mean", rounded(Fraction(sum(said), len(said)), 4))
                emit("answer", *name, None, "median",
                     rounded(statistics.median([Fraction(s) for s in said]), 4))
            if question["kind"] == "text":
                continue
            counts = defaultdict(int)
            for answer in said:
                if question["kind"] == "yes_no":
                    counts[1 if answer else 2] += 1
                else:
                    for item in answer if isinstance(answer, list) else [answer]:
                        counts[item] += 1
            items = {"rating": 5, "yes_no": 2}.get(question["kind"], len(question["options"] or []))
            for item in range(1, items + 1):
                # Nobody chose it: said for the whole establishment only.
                if not counts[item] and branch is not None:
                    continue
                emit("answer", *name, item, "count", counts[item])
                emit("answer", *name, item, "share",
                     rounded(Fraction(counts[item], len(said)), 4))
    print("\n".join(sorted(lines)))


main()
