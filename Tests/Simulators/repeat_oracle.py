"""The days of recurrence rules, from dateutil: a question a line in, its days a line out.

A question is "START AT_MOST LAST_YEAR RULE", its days are those of a list with spaces between.
"""
import datetime
import sys

from dateutil.rrule import rrulestr

for line in sys.stdin:
    start, at_most, last_year, rule = line.split()
    days = []
    for moment in rrulestr(rule, dtstart=datetime.datetime.fromisoformat(start)):
        if len(days) >= int(at_most) or moment.year > int(last_year):
            break
        days.append(moment.date().isoformat())
    print(" ".join(days))
