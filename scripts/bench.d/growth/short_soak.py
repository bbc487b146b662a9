"""What grows under a mixed load: a short run of scripts/soak."""
from measure import Failed
from outcome import LONGEST_WAIT, MOST_GROWTH, Outcome
from report import Figure
from soak import Soak


def soak(place, ours, peers):
    """The slopes of a short soak; an hour of scripts/soak shows more."""
    minutes = place.size(0.75, 5) if not place.is_trial else 0.3
    run = Soak(place.servers, place.errand, place.file("soak"), minutes, 1_500, minutes / 10)
    run.run()
    if not run.is_correct:
        raise Failed(f"jobs were lost or ran twice: {run.verdict}, exit codes {run.codes}")
    outcome, samples = Outcome(run), run.samples
    lasting = f"{minutes} min at {samples.last('sent') / run.seconds:,.0f}/s"
    count, p50, p99, _ = run.outside
    figures = [
        Figure("wait to the claim, p50", "ms", p50, None, None, None, f"{count:,}",
               "outside of the dump, from the commit or the due time"),
        Figure("wait to the claim, p99", "ms", p99, None, None, ("max", LONGEST_WAIT),
               f"{count:,}"),
        Figure("WAL", "bytes/job", outcome.wal_per_job(), None, None, None, lasting),
        Figure("connections of both workers", "most", samples.most("connections"), None, None,
               None, lasting),
    ]
    for number, growth in enumerate(outcome.worker_growth(), 1):
        figures.append(Figure(
            f"worker {number}, private memory", "KiB/min", growth, None, None,
            ("max", MOST_GROWTH), lasting,
            f"{samples.last(f'worker_{number}_private_kib'):,} KiB at the end; a short run "
            "contains the growth of the start"))
    for table in ("jobs", "unique_keys", "activity"):
        figures.append(Figure(
            f"errand.{table}", "KiB/min", outcome.growth(f"{table}_kib"), None, None, None,
            lasting, f"{samples.last(f'{table}_rows'):,} rows at the end"))
    figures.append(Figure("Redis", "KiB/min", outcome.growth("redis_kib"), None, None, None,
                          lasting))
    return figures
