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
    if "UNTIL" not in rule:
        # Or it searches to the year 9999 for what there is not.
        rule += f";UNTIL={last_year}1231"
    days = []
    for moment in rrulestr(rule, dtstart=datetime.datetime.fromisoformat(start)):
        if len(days) >= int(at_most) or moment.year > int(last_year):
            break
        days.append(moment.date().isoformat())
    print(" ".join(days))
