"""Says what Python's zoneinfo knows of zones, for the tests of our own reader.

    PYTHONTZPATH=FOLDER zone_oracle.py FOLDER SEED COUNT <instants >offsets

Each line of the input is a zone's name and instants, in seconds since 1970. The answer has a
line `NAME` for each, then a line `INSTANT OFFSET` for those instants, for the second before, at
and after each transition that the zone's file lists, and for COUNT random ones. All of them lie
in the years 1900 to 2199.
"""
import os
import random
import struct
import sys
import zoneinfo
from datetime import datetime, timedelta, timezone

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
FIRST = int(datetime(1900, 1, 1, tzinfo=timezone.utc).timestamp())
END = int(datetime(2200, 1, 1, tzinfo=timezone.utc).timestamp())


def listed_transitions(path):
    """The transitions of the block with 64-bit times, or of the only one."""
    with open(path, "rb") as file:
        data = file.read()
    place, size, letter = 0, 4, "l"
    counts = struct.unpack(">6l", data[20:44])
    if data[4:5] >= b"2":
        ut, standard, leaps, transitions, types, characters = counts
        place = 44 + transitions * 5 + types * 6 + characters + leaps * 8 + standard + ut
        counts = struct.unpack(">6l", data[place + 20:place + 44])
        size, letter = 8, "q"
    begin = place + 44
    return struct.unpack(f">{counts[3]}{letter}", data[begin:begin + counts[3] * size])


def main():
    folder, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    chance = random.Random(seed)
    for line in sys.stdin:
        name, *asked = line.split()
        zone = zoneinfo.ZoneInfo(name)
        instants = {int(word) for word in asked}
        for transition in listed_transitions(os.path.join(folder, name)):
            instants |= {transition - 1, transition, transition + 1}
        instants |= {chance.randrange(FIRST, END) for _ in range(count)}
        answer = [name]
        for instant in sorted(instants):
            if FIRST <= instant < END:
                offset = (EPOCH + timedelta(seconds=instant)).astimezone(zone).utcoffset()
                answer.append(f"{instant} {offset.days * 86400 + offset.seconds}")
        print("\n".join(answer))


main()
