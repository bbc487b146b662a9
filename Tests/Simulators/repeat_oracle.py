"""The days of recurrence rules, from dateutil: a question a line in, its days a line out.

A question is "START AT_MOST LAST_YEAR RULE", its days are those of a list with spaces between.
"""
import datetime
import sys
import warnings

from dateutil.rrule import rrulestr

# It takes COUNT with UNTIL, and says that one should not.
warnings.simplefilter("ignore")
for line in sys.stdin:
    start, at_most, last_year, rule = line.split()
    # It searches until that year for what there is not: 9999, which takes minutes.
    datetime.MAXYEAR = int(last_year)
    days = []
    for moment in rrulestr(rule, dtstart=datetime.datetime.fromisoformat(start)):
        if len(days) >= int(at_most) or moment.year > int(last_year):
            break
        days.append(moment.date().isoformat())
    print(" ".join(days))
