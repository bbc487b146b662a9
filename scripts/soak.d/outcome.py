"""Prints what a soak found: the correctness, the targets, and what grew and why."""
import re
from collections import Counter

LONGEST_WAIT, MOST_GROWTH = 100, 10


def whole(number):
    return f"{number:,.0f}"


class Outcome:
    """The tables of a soak that has ended."""

    def __init__(self, soak):
        self.soak, self.samples = soak, soak.samples
        self.since = soak.warm_up

    def growth(self, column, until=float("inf")):
        return self.samples.growth(column, self.since, until)

    def worker_growth(self):
        """KiB of private memory a minute, for each worker."""
        return [self.growth(f"worker_{number}_private_kib")
                for number, _ in enumerate(self.soak.workers, 1)]

    def wal_per_job(self):
        first, last = self.samples.rows[0], self.samples.rows[-1]
        return (last["wal_bytes"] - first["wal_bytes"]) / max(last["sent"] - first["sent"], 1)

    def targets(self):
        """Each target: its name, the value, the limit, and whether it is met."""
        p99 = self.soak.outside[2] if self.soak.outside else float("inf")
        found = [("wait p99 outside of the dump, ms", p99, LONGEST_WAIT)]
        found += [(f"private memory of worker {number}, KiB/min", growth, MOST_GROWTH)
                  for number, growth in enumerate(self.worker_growth(), 1)]
        rows = [(name, value, f"< {limit}", value < limit) for name, value, limit in found]
        gone = self.soak.scrapes.vanished + self.soak.scrapes.failed
        return [*rows, ("scrapes with vanished series or without an answer", gone, "0", gone == 0)]

    @property
    def meets_targets(self):
        return all(is_met for *_, is_met in self.targets())

    def show(self):
        soak = self.soak
        held = f", a dump of {soak.dump.ended - soak.dump.begun:.0f} s" if soak.dump.ended else ""
        print(f"\n== soak: {soak.seconds / 60:.1f} min, {soak.samples.last('sent'):,} enqueued, "
              f"{soak.samples.last('sent') / soak.seconds:,.0f}/s{held}")
        print(f"slopes leave out the first {soak.warm_up:.0f} s\n\n== correctness")
        table([(name, whole(number), "" if wanted is None else f"= {wanted:,}",
                "" if wanted is None else "right" if number == wanted else "WRONG")
               for name, number, wanted in soak.verdict]
              + [(f"exit code of worker {number}", str(code), "= 0",
                  "WRONG" if code else "right") for number, code in enumerate(soak.codes, 1)])
        print("\n== targets")
        table([(name, f"{value:,.1f}", limit, "met" if is_met else "MISSED")
               for name, value, limit, is_met in self.targets()])
        print("\n== waits to the claim, ms, of first attempts")
        table([("", "jobs", "p50", "p99", "longest")] + [
            (name, whole(waits[0]), *(f"{ms:,.1f}" for ms in waits[1:]))
            for name, waits in [("outside of the dump", soak.outside),
                                ("inside of the dump", soak.inside),
                                *((f"outside, {way}", waits)
                                  for way, waits in soak.by_way.items())] if waits])
        print("\n== growth")
        table(self.processes())
        print("\n== tables")
        table(self.tables())
        self.show_logs()

    def processes(self):
        samples = self.samples
        before = 0.6 * self.soak.seconds
        rows = [("", "last", "most", "a minute", "before the dump")]

        def grown(title, column, unit):
            rows.append((
                f"{title}, {unit}", whole(samples.last(column)), whole(samples.most(column)),
                f"{self.growth(column):+,.1f}", f"{self.growth(column, before):+,.1f}"))

        for number, _ in enumerate(self.soak.workers, 1):
            grown(f"worker {number}, private memory", f"worker_{number}_private_kib", "KiB")
            grown(f"worker {number}, threads", f"worker_{number}_threads", "count")
            grown(f"worker {number}, descriptors", f"worker_{number}_descriptors", "count")
        grown("connections of workers and commands", "connections", "count")
        grown("Redis, memory", "redis_kib", "KiB")
        grown("Redis, keys", "redis_keys", "count")
        grown("errand.jobs, dead rows", "jobs_dead", "count")
        rows.append(("WAL, bytes for each enqueued", whole(self.wal_per_job())))
        for title, column in (
                *((f"worker {number}", f"worker_{number}_cpu_seconds")
                  for number, _ in enumerate(self.soak.workers, 1)),
                ("PostgreSQL", "postgresql_cpu_seconds"), ("Redis", "redis_cpu_seconds")):
            rows.append((f"processor time of {title}, % of a core",
                         f"{samples.share(column, self.since):.1f}"))
        scrapes = self.soak.scrapes
        rows.append(("scrapes", whole(scrapes.count)))
        rows.append(("series", whole(scrapes.series)))
        rows.append(("longest scrape, ms", f"{1000 * scrapes.slowest:.0f}"))
        return rows

    def tables(self):
        rows = [("", "rows", "KiB", "most", "KiB/min", "kept")]
        for name in self.samples.tables():
            column = f"{name}_kib"
            if self.samples.last(f"{name}_rows") or self.growth(column):
                rows.append((
                    name, whole(self.samples.last(f"{name}_rows")),
                    whole(self.samples.last(column)), whole(self.samples.most(column)),
                    f"{self.growth(column):+,.1f}", self.soak.rules.get(name, "-")))
        return rows

    def show_logs(self):
        if self.soak.scrapes.most:
            print(f"\n== vanished series, {len(self.soak.scrapes.most)} at most")
            for name in sorted(self.soak.scrapes.most)[:5]:
                print(f"   {name}")
        warnings = Counter()
        for worker in self.soak.workers:
            for line in worker.warnings():
                warnings[re.sub(r"\d+", "N", line)[:140]] += 1
        if warnings:
            print(f"\n== warnings of the workers, {warnings.total():,}")
            for text, count in warnings.most_common(8):
                print(f"   {count} x {text}")
        print(f"\nsamples and logs: {self.soak.folder}", flush=True)


def table(rows):
    """Aligned columns, the first and the last to the left."""
    count = max(map(len, rows))
    rows = [[*row, *[""] * (count - len(row))] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(count)]
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1])]
        print("  ".join([*cells, row[-1]]).rstrip())
