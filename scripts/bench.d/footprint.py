"""Memory, idle CPU time, startup, and the duration of a clean build."""
import os
import subprocess
import tempfile
import time

from measure import Running, memory, percentile, process_seconds
from report import Figure


def footprint(place, ours, peers):
    """The cost of an idle program, its startup, size and build."""
    seconds = place.size(4, 20)
    env = ours.fresh("bench_idle")
    peer_envs = [peer.fresh() for peer in peers]
    workers = [Running([place.errand, "work", "--queues", "default"], env)]
    workers += [peer.work(env, count=1_000_000) for peer, env in zip(peers, peer_envs)]
    (rss, share), *others = idle(workers, seconds)
    names = [peer.name for peer in peers]
    peer_rss = dict(zip(names, (held for held, _ in others)))
    peer_share = dict(zip(names, (used for _, used in others)))
    place.servers.drop("bench_idle")
    times = sorted(start_up([place.errand, "--version"]) for _ in range(20))
    floor = sorted(start_up(["/bin/true"]) for _ in range(20))
    figures = [
        Figure("idle worker, memory", "MiB", rss, None, peer_rss, ("max", 25), f"{seconds} s"),
        Figure("idle worker, processor", "% of a core", share, None, peer_share, ("max", 1),
               f"{seconds} s", "without what it makes the servers do"),
        Figure("errand --version, p50", "ms", percentile(times, 0.5), percentile(floor, 0.5),
               None, ("max", 30), "20", f"longest {times[-1]:.1f}; raw: /bin/true"),
        Figure("size of the program", "MiB", os.path.getsize(place.errand) / 2**20),
    ]
    if not place.quick:
        figures.append(Figure(
            "clean release build", "s", clean_build(place), None, None, ("max", 300), "1"))
    return figures


def idle(workers, seconds):
    """Resident MiB and percent of a core of each of these idle workers."""
    try:
        time.sleep(2)
        before, start = [process_seconds(worker.pid) for worker in workers], time.monotonic()
        time.sleep(seconds)
        spent = [process_seconds(worker.pid) - had for worker, had in zip(workers, before)]
        lasted = time.monotonic() - start
        return [(memory(worker.pid) / 2**20, 100 * used / lasted)
                for worker, used in zip(workers, spent)]
    finally:
        for worker in workers:
            worker.end()


def start_up(words, env=None):
    """Milliseconds of a whole process."""
    start = time.monotonic()
    subprocess.run(words, env={**os.environ, **(env or {})}, stdout=subprocess.DEVNULL, check=True)
    return (time.monotonic() - start) * 1e3


def clean_build(place):
    """Seconds for scripts/build in a fresh clone."""
    with tempfile.TemporaryDirectory(prefix="errand-build.") as folder:
        subprocess.run(["git", "clone", "-q", place.root, folder], check=True)
        start = time.monotonic()
        subprocess.run([f"{folder}/scripts/build"], check=True, stdout=subprocess.DEVNULL)
        return time.monotonic() - start
