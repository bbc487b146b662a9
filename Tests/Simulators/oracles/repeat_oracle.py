"""The days of recurrence rules, from dateutil: a question a line in, its days a line out.

A question is "START AT_MOST LAST_YEAR ZONE SECOND RULE". Its days are those of a list with spaces
between, each with @ and the second since 1970 at which clocks of the zone first show that second of
the day, or a later one where they leave it out. Zones are those of zoneinfo, since dateutil's end
in 2037.
"""
import datetime
import sys
import warnings
import zoneinfo

from dateutil.rrule import rrulestr


def second(moment, zone):
    """When clocks first show a time."""
    high = int(moment.replace(tzinfo=zone).timestamp())
    low = int(moment.replace(tzinfo=zone, fold=1).timestamp())

    def shown(stamp):
        return datetime.datetime.fromtimestamp(stamp, zone).replace(tzinfo=None)

    # Left out, it lies between what the offsets before and after would make of it.
    while shown(high) != moment and high - low > 1:
        middle = (low + high) // 2
        if shown(middle) < moment:
            low = middle
        else:
            high = middle
    return high


# It takes COUNT with UNTIL, and says that one should not.
warnings.simplefilter("ignore")
for line in sys.stdin:
    start, max_rows, last_year, name, seconds, rule = line.split()
    zone, time = zoneinfo.ZoneInfo(name), datetime.timedelta(seconds=int(seconds))
    # It searches until that year for what there is not: 9999, which takes minutes.
    datetime.MAXYEAR = int(last_year)
    days = []
    for moment in rrulestr(rule, dtstart=datetime.datetime.fromisoformat(start)):
        if len(days) >= int(max_rows) or moment.year > int(last_year):
            break
        days.append(f"{moment.date()}@{second(moment + time, zone)}")
    print(" ".join(days))
