"""The wait of a job: on an idle system, under steady load, and during a burst."""
import threading

from measure import percentile
from programs import Pgqueuer, probed, starts
from report import Figure


def pair(name, ours, raw, peers, aims, samples, note=""):
    """Figures of the median and of the 99th percentile, in milliseconds."""
    return [
        Figure(f"{name}, {title}", "ms", percentile(ours, share),
               percentile(raw, share) if raw else None,
               {peer: percentile(values, share) for peer, values in peers.items()},
               ("max", aim) if aim else None, samples, note if share == 0.5 else "")
        for title, share, aim in (("p50", 0.5, aims[0]), ("p99", 0.99, aims[1]))]


def raw_probe(ours, env, **flags):
    record = ours.place.file("raw")
    ours.raw(env, "probe", record=record, **flags)
    found = starts(record)
    return [(at - sent) / 1e6 for n, (sent, at) in found.items() if n >= flags["count"] // 20]


def latency(place, ours, peers):
    """The time from just before the enqueue, through its commit, to the handler's first line."""
    count, rate = place.size(200, 2_000), place.size(100, 50)
    figures = []
    idle, after = probed(ours, ours.fresh(), count, rate)
    raw = raw_probe(ours, ours.fresh(), count=count, rate=rate)
    others = {peer.name: probed(peer, peer.fresh(), count, rate)[0] for peer in peers}
    figures += pair(
        "idle, from Swift", idle, raw, others, (0.5, 1.5), f"{len(idle):,} at {rate}/s",
        f"of this, after the enqueue returned: p50 {percentile(after, 0.5):.2f}, p99 "
        f"{percentile(after, 0.99):.2f}; raw: INSERT, ZADD, BZMPOP, claim"
        + (f"; the peers: {len(idle):,} each" if peers else ""))
    quick = 500
    often, _ = probed(ours, ours.fresh(), 3 * count, quick)
    raw = raw_probe(ours, ours.fresh(), count=3 * count, rate=quick)
    figures += pair(
        f"lone jobs at {quick}/s", often, raw, {}, (0.5, 1.5), f"{len(often):,}",
        "the same while the processors are kept awake: between two jobs they fall asleep at "
        f"{rate}/s, and each of the ten or so wake-ups on a job's way costs 0.1 ms")
    sql, _ = probed(ours, ours.fresh(), count, rate, by="sql")
    raw = raw_probe(ours, ours.fresh(), count=count, rate=rate, by="sql")
    figures += pair(
        "idle, from SQL alone", sql, raw, {}, (2, None), f"{len(sql):,} at {rate}/s",
        "errand.enqueue() on one connection; raw: INSERT and NOTIFY, LISTEN, claim")
    rate = 20_000
    count = rate * place.size(2, 10)
    load, _ = probed(ours, ours.fresh(), count, rate)
    raw = raw_probe(ours, ours.fresh(), count=count, rate=rate)
    figures += pair(
        "at 20,000/s offered", load, raw, {}, (2, 15), f"{len(load):,}",
        "open loop, one call of the client a job, from the time each was planned for; the peers "
        "cannot enqueue that many")
    return figures


def fairness(place, ours, peers):
    """A job every 50 ms in one queue, with and without a burst in another of the same worker."""
    rate, count = 20, place.size(60, 400)
    # Not in batches of a thousand: a job of the other queue would wait for them.
    peers = [Pgqueuer(place, Pgqueuer.DEFAULT_BATCH) if peer.name == Pgqueuer.name else peer
             for peer in peers]
    calm, flooded, notes = {}, {}, []
    for queue in (ours, *peers):
        env = queue.fresh()
        calm[queue.name], _ = probed(queue, env, count // 2, rate, "flood,quick", "quick")
        delays, jobs = beside_flood(queue, queue.fresh(), count, rate)
        flooded[queue.name] = delays
        notes.append(f"{queue.name} {len(delays)} of {count} beside {jobs:,} jobs")
    samples = "; ".join(notes)
    usual = f"pgqueuer with its default, batches of {Pgqueuer.DEFAULT_BATCH}" if any(
        peer.name == Pgqueuer.name for peer in peers) else ""
    figures = pair(
        "without a flood", calm.pop("errand"), None, calm, (None, None), f"{count // 2}",
        usual)
    figures += pair(
        "beside a flood", flooded.pop("errand"), None, flooded, (None, None), samples,
        "the flood waits before the worker starts, and a second half comes while it works"
        + (f"; {usual}" if usual else ""))
    before, after = figures[0].ours, figures[2].ours
    figures.append(Figure("added by the flood, p50", "ms", after - before, None, None, ("max", 5)))
    figures.append(Figure(
        "added by the flood, p99", "ms", figures[3].ours - figures[1].ours, None, None))
    return figures


def beside_flood(queue, env, count, rate):
    """Delays of the probes that were sent during the burst."""
    place = queue.place
    lasting = count / rate
    # Enough to keep the worker busy for about as long as the probes run.
    speed = {"errand": 60_000, "sidekiq": 8_000, "pgqueuer": 3_000}[queue.name]
    half = max(int(speed * lasting / 2), 50_000 if queue.name == "errand" else 3_000)
    queue.enqueue(env, queue="flood", count=half, batch=1_000)
    place.servers.settle()
    record = place.file("starts")
    worker = queue.work(env, count=2 * half + count, queues="flood,quick", record=record)
    flood = threading.Thread(
        target=queue.enqueue, args=[env], kwargs={"queue": "flood", "count": half, "batch": 1_000})
    try:
        flood.start()
        queue.probe(env, count=count, rate=rate, queue="quick", record=place.file("acks"))
        flood.join()
        reported = worker.join(120)
    finally:
        worker.end()
    begin, end = reported["first_ns"], reported["last_ns"]
    return ([(at - sent) / 1e6 for sent, at in starts(record).values() if begin <= sent <= end],
            2 * half)
