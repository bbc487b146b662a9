"""The optimum of matchings, from scipy: an instance a line in, its largest total a line out.

An instance is {"slots": […], "capacity": […], "edges": [[mission, shopper, score], …]}, by places.
"""
import functools
import json
import math
import sys

import numpy
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse import coo_array

# So many are solved as one linear program, whose parts have nothing to do with each other.
BATCH = 200
# Scores, divided by their greatest common divisor, that a double holds with much to spare.
LIMIT = 10**6


def reduced(instance):
    """The scores in the largest unit, and that unit."""
    scores = [score for _, _, score in instance["edges"] if score > 0]
    unit = functools.reduce(math.gcd, scores, 0) or 1
    assert all(score // unit <= LIMIT for score in scores), "too fine for doubles"
    return [(mission, shopper, score // unit)
            for mission, shopper, score in instance["edges"] if score > 0], unit


def assigned(instance):
    """By the assignment of rows to columns, where none has more than one place."""
    edges, unit = reduced(instance)
    gains = numpy.zeros((len(instance["slots"]), len(instance["capacity"])), dtype=numpy.int64)
    for mission, shopper, score in edges:
        gains[mission, shopper] = score * instance["slots"][mission] * instance["capacity"][shopper]
    rows, columns = linear_sum_assignment(gains, maximize=True)
    return int(gains[rows, columns].sum()) * unit


def by_program(instances):
    """By linear programs, whose vertices are whole numbers here."""
    values, rows, columns, limits, parts = [], [], [], [], []
    for instance in instances:
        edges, unit = reduced(instance)
        first, missions = len(limits), len(instance["slots"])
        parts.append((len(values), len(edges), unit))
        for mission, shopper, score in edges:
            rows += [first + mission, first + missions + shopper]
            columns += [len(values)] * 2
            values.append(score)
        limits += instance["slots"] + instance["capacity"]
    if not values:
        return [0] * len(parts)
    matrix = coo_array((numpy.ones(len(rows)), (rows, columns)), (len(limits), len(values)))
    found = linprog(-numpy.array(values, dtype=float), A_ub=matrix.tocsr(), b_ub=limits,
                    bounds=(0, 1), method="highs-ds")
    assert found.status == 0, found.message
    taken = numpy.rint(found.x).astype(numpy.int64)
    assert numpy.abs(found.x - taken).max() < 1e-6, "a vertex that is not of whole numbers"
    gains = taken * numpy.array(values, dtype=numpy.int64)
    return [int(gains[start:start + count].sum()) * unit for start, count, unit in parts]


def main():
    instances = [json.loads(line) for line in sys.stdin]
    results = []
    for start in range(0, len(instances), BATCH):
        results += by_program(instances[start:start + BATCH])
    for instance, result in zip(instances, results):
        if max(instance["slots"] + instance["capacity"], default=0) <= 1 \
                and instance["slots"] and instance["capacity"]:
            assert assigned(instance) == result, (instance, result)
        print(result)


main()
