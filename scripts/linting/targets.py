"""Who may import whom: one line for each target, and what is said of it here is all there is.

FLOOR TARGET: our targets it may import | modules of the toolchain it may import

The left part must be what Package.swift says. Nothing is imported from a floor above, and a
domain (floor 4) never imports another domain.
"""

TABLE = """
0 CPostgres:
0 CRedis:
0 CCurl:
0 CCrypto:
0 CQRCode:
0 CPNG:
0 CHaru:
0 CICal:
0 CMicroHTTPD:
0 CSystem:

1 Threads: CSystem | Dispatch Glibc Synchronization
1 Gregorian:
1 Postgres: CPostgres Gregorian Threads | FoundationEssentials Glibc Synchronization
1 Redis: CRedis Threads | Glibc Synchronization
1 HTTP: CCurl CSystem Threads | FoundationEssentials Glibc Synchronization
1 HTTPServer: CMicroHTTPD | Glibc Synchronization
1 Crypto: CCrypto | Glibc
1 QRCode: CPNG CQRCode | Glibc
1 LatinText:
1 Matching:
1 PDF: CHaru Gregorian LatinText |
1 DurableFiles: Crypto | Glibc
1 Recurrence: Gregorian | FoundationEssentials Glibc Synchronization
1 RepeatRules: CICal Gregorian | Synchronization
1 Terminal: Gregorian Threads | FoundationEssentials Glibc Synchronization

2 Migrations: Postgres |
2 EnglishNotices:
2 Sealing: Crypto Postgres |
2 PaymentFiles: Crypto DurableFiles Gregorian LatinText PDF | FoundationEssentials
2 JobQueue: Postgres Recurrence Redis Threads | FoundationEssentials Glibc Synchronization
2 Delivery: Crypto HTTP | FoundationEssentials Synchronization

3 Notifications: Crypto EnglishNotices JobQueue Delivery Gregorian Postgres Recurrence Sealing \
| FoundationEssentials Synchronization
3 Ledger: Gregorian JobQueue Postgres Recurrence | FoundationEssentials

4 Coupons: Crypto Notifications JobQueue Postgres Recurrence Sealing \
| FoundationEssentials Synchronization
4 Payouts: Crypto DurableFiles Gregorian JobQueue Ledger Notifications PaymentFiles Postgres \
Recurrence Sealing | FoundationEssentials Synchronization
4 Votes: Crypto JobQueue Notifications Postgres Recurrence Sealing | FoundationEssentials
4 Missions: JobQueue Matching Notifications Postgres Threads |
4 Household: Gregorian JobQueue Notifications Postgres Recurrence RepeatRules |
4 StatusPage: HTTPServer JobQueue Postgres Redis Threads \
| FoundationEssentials Glibc Synchronization

5 errand: Coupons Crypto Notifications Delivery DurableFiles Gregorian HTTP HTTPServer Household \
JobQueue Ledger Matching Migrations Missions PaymentFiles Payouts Postgres QRCode Recurrence Redis \
Sealing StatusPage Terminal Threads Votes \
| Dispatch FoundationEssentials Glibc Synchronization

6 TestServices: CSystem Crypto Postgres Redis Migrations JobQueue |
6 bench: Delivery DurableFiles Gregorian HTTP JobQueue Migrations Notifications PaymentFiles \
Postgres Recurrence Redis |
7 PostgresTests: Postgres Threads TestServices |
7 RedisTests: Redis Threads TestServices |
7 HTTPTests: HTTP TestServices |
7 HTTPServerTests: HTTP HTTPServer TestServices |
7 CryptoTests: Crypto TestServices |
7 SealingTests: Crypto Postgres Sealing TestServices |
7 QRCodeTests: QRCode TestServices |
7 MatchingTests: Matching TestServices |
7 PDFTests: Gregorian PDF TestServices |
7 DurableFilesTests: DurableFiles TestServices |
7 PaymentFilesTests: DurableFiles Gregorian LatinText PaymentFiles TestServices |
7 RecurrenceTests: Gregorian Recurrence TestServices |
7 RepeatRulesTests: Gregorian Recurrence RepeatRules TestServices |
7 TerminalTests: Terminal TestServices |
7 DeliveryTests: Delivery HTTP TestServices |
7 JobQueueTests: JobQueue Migrations Postgres Recurrence Redis TestServices |
7 NotificationsTests: Crypto EnglishNotices Notifications Delivery Gregorian JobQueue Postgres \
Recurrence Sealing TestServices |
7 CouponsTests: Coupons Crypto Notifications Delivery JobQueue Postgres Recurrence TestServices |
7 LedgerTests: Gregorian JobQueue Ledger Postgres Recurrence TestServices |
7 PayoutsTests: Crypto DurableFiles Gregorian JobQueue Ledger Notifications PaymentFiles Payouts \
Postgres Recurrence Sealing TestServices |
7 VotesTests: Crypto JobQueue Notifications Postgres Recurrence Sealing Votes TestServices |
7 MissionJobsTests: JobQueue Matching Missions Notifications Postgres TestServices |
7 MissionsTests: Postgres TestServices |
7 HouseholdTests: Postgres TestServices |
7 HouseholdJobsTests: Gregorian Household JobQueue Notifications Postgres Recurrence \
TestServices |
7 StatusPageTests: HTTPServer JobQueue Postgres StatusPage TestServices |
7 CommandTests: HTTP Postgres Redis TestServices |
7 CrashTests: JobQueue Migrations Postgres Redis TestServices |
"""

# What everything under Tests may import of the toolchain.
IN_TESTS = {
    "Dispatch", "Foundation", "FoundationEssentials", "Glibc", "Synchronization", "Testing",
}
DOMAINS = 4


class Target:
    def __init__(self, line):
        head, _, rest = line.partition(":")
        ours, _, toolchain = rest.partition("|")
        floor, self.name = head.split()
        self.floor = int(floor)
        self.ours = set(ours.split())
        self.toolchain = set(toolchain.split()) | (IN_TESTS if self.floor > 5 else set())

    def may_import(self, module):
        return module in self.ours or module in self.toolchain


TARGETS = {
    target.name: target
    for target in (Target(line) for line in TABLE.splitlines() if line.strip())
}


def upward_imports():
    """Lines of the table that break the table's own rule."""
    for target in TARGETS.values():
        for name in sorted(target.ours):
            below = TARGETS[name].floor if name in TARGETS else None
            if below is None:
                yield f"{target.name} names {name}, which has no line of its own"
            elif below > target.floor or below == target.floor == DOMAINS:
                yield f"{target.name} may not import {name}: imports go downwards only"
