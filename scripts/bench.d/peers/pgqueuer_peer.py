"""pgqueuer as a peer of scripts/bench: install, enqueue, work, probe."""
import argparse
import asyncio
import json
import os
import random
import time

import asyncpg
import uvloop
from pgqueuer import AsyncpgDriver, QueueManager
from pgqueuer.queries import Queries

PAYLOAD = "x" * 84


async def connect():
    return await asyncpg.connect(os.environ["DATABASE_URL"])


async def install(_):
    await Queries(AsyncpgDriver(await connect())).install()


async def enqueue(flags):
    share = flags.count // flags.callers
    queries = [Queries(AsyncpgDriver(await connect())) for _ in range(flags.callers)]
    body = json.dumps({"payload": PAYLOAD}).encode()

    async def caller(mine):
        left = share
        while left > 0:
            size = min(flags.batch, left)
            if flags.batch == 1:
                await mine.enqueue(flags.queue, body)
            else:
                await mine.enqueue([flags.queue] * size, [body] * size, [0] * size)
            left -= size

    start = time.monotonic_ns()
    await asyncio.gather(*(caller(mine) for mine in queries))
    end = time.monotonic_ns()
    print(json.dumps({"jobs": share * flags.callers, "seconds": (end - start) / 1e9}))


async def work(flags):
    manager = QueueManager(Queries(AsyncpgDriver(await connect())))
    probes = []
    seen = {"jobs": 0, "first_ns": 0, "last_ns": 0}

    async def run(job):
        now = time.monotonic_ns()
        args = json.loads(job.payload)
        if "sent" in args:
            probes.append((args["n"], args["sent"], now))
        else:
            seen["first_ns"] = seen["first_ns"] or now
            seen["last_ns"] = now
            seen["jobs"] += 1
        if len(probes) + seen["jobs"] == flags.count:
            manager.shutdown.set()

    for queue in flags.queues.split(","):
        manager.entrypoint(queue)(run)
    await manager.run(batch_size=flags.batch)
    if flags.record:
        with open(flags.record, "w", encoding="ascii") as file:
            file.writelines(f"{n} {sent} {at}\n" for n, sent, at in probes)
    seen["seconds"] = (seen["last_ns"] - seen["first_ns"]) / 1e9
    print(json.dumps(seen))


async def probe(flags):
    queries = Queries(AsyncpgDriver(await connect()))
    start = time.monotonic_ns()
    lines = []
    for n in range(flags.count):
        due = start + int((n + random.uniform(0, 0.5)) * 1e9 / flags.rate)
        await asyncio.sleep(max(due - time.monotonic_ns(), 0) / 1e9)
        sent = time.monotonic_ns()
        body = json.dumps({"n": n, "sent": sent, "payload": PAYLOAD}).encode()
        await queries.enqueue(flags.queue, body)
        lines.append(f"{n} {sent} {time.monotonic_ns()}\n")
    if flags.record:
        with open(flags.record, "w", encoding="ascii") as file:
            file.writelines(lines)
    print(json.dumps({"jobs": flags.count}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", choices=["install", "enqueue", "work", "probe"])
    parser.add_argument("--queue", default="default")
    parser.add_argument("--queues", default="default")
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--callers", type=int, default=1)
    parser.add_argument("--rate", type=int, default=50)
    parser.add_argument("--record")
    flags = parser.parse_args()
    uvloop.run(globals()[flags.program](flags))


main()
