#!/usr/bin/env python3
"""Reads an AFT file as a bank does, and holds it against the payments that were asked for.

    aft_check.py FILE EXPECTED.json [--each-byte]

With --each-byte it also proves that it notices a change of any byte. Positions are those of Payments Canada's Standard 005; nothing is shared with the writer.
"""
import datetime
import json
import sys

from bank_text import Fields, Wrong, capitals, expect_no_blind_spot, same

RECORD, SEGMENT = 1464, 240


def julian(text):
    day = datetime.date.fromisoformat(text)
    return f"0{day:%y}{day:%j}"


def records(data, ends):
    size = RECORD + len(ends)
    if len(data) % size:
        raise Wrong(f"{len(data)} bytes are no multiple of {size}")
    for start in range(0, len(data), size):
        record = data[start:start + size]
        same(record[RECORD:], ends, "end of a record")
        text = record[:RECORD].decode("ascii")
        if not text.isprintable() or text != text.upper():
            raise Wrong("a record has other characters than printable capitals")
        yield text


def check_segment(text, where, profile, item, payment, order):
    structured = profile["trace"] == "structured"
    fields = Fields(text, f"{where} item {order}")
    fields.fixed(profile["code"], "04 transaction code")
    fields.number(payment["amount"], 10, "05 amount")
    fields.fixed(julian(profile["paid"]), "06 date")
    fields.fixed("0" + payment["institution"] + payment["transit"], "07 institution")
    fields.text(payment["account"], 12, "08 account")
    trace = fields.take(22, "09 trace")
    if structured:
        same(trace, "%s%s%04d%09d" % (profile["centre"][:4], profile["clearer"],
                                      profile["number"], item), "09 trace")
        for part in (trace[0:4], trace[4:9], trace[9:13], trace[13:22]):
            if int(part) == 0:
                raise Wrong(f"{where}: a part of the trace number is zero")
    else:
        same(trace, "0" * 22, "09 trace")
    fields.fixed("000", "10 stored transaction type")
    fields.text(capitals(profile["short"], 15), 15, "11 short name")
    name = capitals(payment["name"], 30)
    if not name:
        raise Wrong(f"{where}: a payment without a name")
    fields.text(name, 30, "12 payee")
    fields.text(capitals(profile["long"], 30), 30, "13 long name")
    fields.text(profile["originator"], 10, "14 originator")
    fields.text(payment["reference"], 19, "15 reference")
    home = profile["home"]
    if structured:
        fields.fixed("0" + home["institution"] + home["transit"], "16 institution for returns")
        fields.text(home["account"], 12, "17 account for returns")
    else:
        fields.fixed("0" * 9, "16 institution for returns")
        fields.fixed("0" * 12, "17 account for returns")
    fields.text(capitals(payment.get("note", ""), 15), 15, "18 sundry")
    fields.fixed(" " * 22, "19 blank")
    fields.text(profile["settlement"] if structured else "00", 2, "20 settlement code")
    fields.fixed("0" * 11, "21 invalid data element")
    fields.end()


def check(data, expected):
    profile, payments = expected["profile"], expected["payments"]
    found = list(records(data, b"\r\n" if profile["ends"] else b""))
    same(len(found), 2 + (len(payments) + 5) // 6, "number of records")
    for count, record in enumerate(found, 1):
        fields = Fields(record, f"record {count}")
        kind = "A" if count == 1 else "Z" if count == len(found) else "C"
        fields.fixed(kind, "01 type")
        fields.number(count, 9, "02 record count")
        fields.text(profile["originator"], 10, "03 originator")
        fields.number(profile["number"], 4, "04 file creation number")
        if kind == "A":
            fields.fixed(julian(profile["created"]), "05 creation date")
            fields.fixed(profile["centre"], "06 data centre")
            fields.fixed(" " * 20, "07 blank")
            fields.fixed(profile["currency"], "08 currency")
            fields.fixed(" " * 1406, "09 blank")
        elif kind == "Z":
            fields.number(0, 14, "04 debits")
            fields.number(0, 8, "05 debits")
            fields.number(sum(payment["amount"] for payment in payments), 14, "06 credits")
            fields.number(len(payments), 8, "07 credits")
            for element in ("08 E", "10 F"):
                fields.number(0, 14, element)
                fields.number(0, 8, element)
            fields.fixed(" " * 1352, "12 blank")
        else:
            for segment in range(6):
                item = 6 * (count - 2) + segment
                text = fields.take(SEGMENT, f"segment {segment + 1}")
                if item < len(payments):
                    check_segment(text, f"record {count}", profile, item + 1, payments[item],
                                  segment + 1)
                else:
                    same(text, " " * SEGMENT, f"record {count}, unused segment {segment + 1}")
        fields.end()
    return len(payments)


def main():
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    with open(sys.argv[2], encoding="utf-8") as file:
        expected = json.load(file)
    print(f"{check(data, expected)} payments agree")
    if "--each-byte" in sys.argv:
        expect_no_blind_spot(data, lambda changed: check(changed, expected))


main()
