#!/usr/bin/env python3
"""Reads a Nacha file as a bank does, and holds it against the payments that were asked for.

    nacha_check.py FILE EXPECTED.json [--each-byte]

With --each-byte it also proves that it notices a change of any byte. Positions are those of the Nacha Operating Rules' appendix; nothing is shared with the writer.
"""
import json
import sys

from bank_text import Fields, Wrong, capitals, expect_no_blind_spot, same


def short(day):
    return day[2:4] + day[5:7] + day[8:10]


class File:
    def __init__(self, data, expected):
        self.profile, self.payments = expected["profile"], expected["payments"]
        end = b"\r\n" if self.profile["cr"] else b"\n"
        if not data.endswith(end):
            raise Wrong("the last line has no end")
        self.lines = [line.decode("ascii") for line in data[:-len(end)].split(end)]
        for number, line in enumerate(self.lines, 1):
            if len(line) != 94 or not line.isprintable():
                raise Wrong(f"line {number} is not 94 printable characters")
        same(len(self.lines) % 10, 0, "lines beyond whole blocks")
        self.place = 0

    def next(self, kind):
        line = self.lines[self.place]
        self.place += 1
        fields = Fields(line, f"line {self.place}")
        fields.fixed(kind, "type")
        return fields

    def check(self):
        self.header()
        done = batches = 0
        sums = [0, 0, 0]
        while self.lines[self.place].startswith("5"):
            batches += 1
            count, digest, total = self.batch(batches, done)
            done += count
            sums = [sums[0] + count, sums[1] + digest, sums[2] + total]
        same(done, len(self.payments), "number of entries")
        self.control(batches, sums)
        return done

    def header(self):
        profile = self.profile
        fields = self.next("1")
        fields.fixed("01", "priority")
        fields.fixed(" " + profile["destination"], "destination")
        fields.fixed(profile["origin"].rjust(10), "origin")
        fields.fixed(short(profile["created"]), "date")
        fields.fixed(profile["time"], "time")
        fields.fixed(profile["modifier"], "modifier")
        fields.fixed("094" + "10" + "1", "sizes")
        fields.text(capitals(profile["destination_name"], 23), 23, "destination name")
        fields.text(capitals(profile["origin_name"], 23), 23, "origin name")
        fields.fixed(" " * 8, "reference")
        fields.end()

    def batch(self, number, done):
        profile = self.profile
        fields = self.next("5")
        fields.fixed("220", "service class")
        fields.text(capitals(profile["company"], 16), 16, "company")
        fields.fixed(" " * 20, "discretionary")
        fields.text(profile["company_id"], 10, "company id")
        fields.fixed(profile["class"], "entry class")
        fields.text(capitals(profile["description"], 10), 10, "description")
        fields.fixed(short(profile["effective"]), "descriptive date")
        fields.fixed(short(profile["effective"]), "effective date")
        fields.fixed("   " + "1", "settlement date and status")
        fields.fixed(profile["odfi"][:8], "ODFI")
        fields.number(number, 7, "batch number")
        fields.end()
        count = digest = total = 0
        while self.lines[self.place].startswith("6"):
            payment = self.payments[done + count]
            count += 1
            self.entry(payment, done + count)
            digest += int(payment["routing"][:8])
            total += payment["amount"]
        same(count, min(profile["limit"], len(self.payments) - done), "entries of the batch")
        fields = self.next("8")
        fields.fixed("220", "service class")
        fields.number(count, 6, "count")
        fields.number(digest % 10**10, 10, "hash")
        fields.number(0, 12, "debits")
        fields.number(total, 12, "credits")
        fields.text(profile["company_id"], 10, "company id")
        fields.fixed(" " * 25, "blank")
        fields.fixed(profile["odfi"][:8], "ODFI")
        fields.number(number, 7, "batch number")
        fields.end()
        return count, digest, total

    def entry(self, payment, order):
        fields = self.next("6")
        fields.fixed("22" if payment["kind"] == "checking" else "32", "transaction code")
        routing = payment["routing"]
        weights = zip(map(int, routing), (3, 7, 1) * 3)
        same(sum(digit * weight for digit, weight in weights) % 10, 0, "check digit")
        fields.fixed(routing, "routing number")
        fields.text(payment["account"], 17, "account")
        fields.number(payment["amount"], 10, "amount")
        fields.text(payment["reference"], 15, "reference")
        fields.text(capitals(payment["name"], 22), 22, "name")
        fields.fixed("  " + "0", "discretionary, addenda")
        fields.fixed(self.profile["odfi"][:8], "trace: ODFI")
        fields.number(order, 7, "trace: sequence")
        fields.end()

    def control(self, batches, sums):
        fields = self.next("9")
        fields.number(batches, 6, "batches")
        fields.number(len(self.lines) // 10, 6, "blocks")
        fields.number(sums[0], 8, "entries")
        fields.number(sums[1] % 10**10, 10, "hash")
        fields.number(0, 12, "debits")
        fields.number(sums[2], 12, "credits")
        fields.fixed(" " * 39, "blank")
        fields.end()
        padding = self.lines[self.place:]
        if len(padding) > 9 or any(line != "9" * 94 for line in padding):
            raise Wrong("the padding is not nines, or too much of it")


def main():
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    with open(sys.argv[2], encoding="utf-8") as file:
        expected = json.load(file)
    print(f"{File(data, expected).check()} payments agree")
    if "--each-byte" in sys.argv:
        expect_no_blind_spot(data, lambda changed: File(changed, expected).check())


main()
