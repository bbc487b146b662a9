"""What is read of workers and servers during a soak, and the growth of it."""
import csv
import os

from fitting import slope
from measure import memory
from usage import private_bytes

TABLES = r"""
    SELECT CASE WHEN c.relname ~ '^finished_jobs_\d+$' THEN 'finished_jobs' ELSE c.relname END,
        sum(pg_total_relation_size(c.oid)), sum(s.n_live_tup), sum(s.n_dead_tup)
    FROM pg_class c JOIN pg_stat_all_tables s ON s.relid = c.oid
    WHERE c.relnamespace = 'errand'::regnamespace AND c.relkind = 'r' GROUP BY 1 ORDER BY 1
"""
# Without the sessions of the soak itself.
CONNECTIONS = """
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
      AND backend_type = 'client backend' AND application_name NOT IN ('psql', 'pg_dump')
"""


class Samples:
    """Readings at intervals, in memory and in a CSV file."""

    def __init__(self, usage, workers, path):
        self.usage, self.workers, self.path = usage, workers, path
        self.rows = []

    def take(self, second, at, **others):
        """Reads everything; `others` are columns that the caller knows."""
        pids = [worker.pid for worker in self.workers]
        *of_workers, postgres, redis = self.usage.seconds(pids)
        row = {"second": round(second, 1), "at": round(at, 3), **others}
        for number, (pid, cpu) in enumerate(zip(pids, of_workers), 1):
            row |= {
                f"worker_{number}_private_kib": private_bytes(pid) // 1024,
                f"worker_{number}_file_kib": memory(pid, "RssFile") // 1024,
                f"worker_{number}_threads": len(os.listdir(f"/proc/{pid}/task")),
                f"worker_{number}_descriptors": len(os.listdir(f"/proc/{pid}/fd")),
                f"worker_{number}_cpu_seconds": round(cpu, 2),
            }
        row |= {
            "postgresql_cpu_seconds": round(postgres, 2), "redis_cpu_seconds": round(redis, 2),
            "connections": int(self.usage.session.number(CONNECTIONS)),
            "redis_kib": self.usage.redis_bytes() // 1024,
            "redis_keys": int(self.usage.servers.redis("DBSIZE")),
            "wal_bytes": self.usage.servers.wal_bytes(),
        }
        for name, size, live, dead in self.usage.session.rows(TABLES):
            row |= {f"{name}_kib": int(size) // 1024, f"{name}_rows": int(live),
                    f"{name}_dead": int(dead)}
        self.rows.append(row)
        self.write()

    def write(self):
        columns = dict.fromkeys(name for row in self.rows for name in row)
        with open(self.path, "w", encoding="ascii", newline="") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(self.rows)

    def tables(self):
        return [name.removesuffix("_dead") for name in self.rows[-1] if name.endswith("_dead")]

    def last(self, column):
        return self.rows[-1].get(column, 0)

    def most(self, column):
        return max(row.get(column, 0) for row in self.rows)

    def growth(self, column, since, until=float("inf")):
        """The slope a minute, of the samples after these seconds."""
        return 60 * slope([
            (row["second"], row[column]) for row in self.rows
            if since <= row["second"] <= until and column in row])

    def share(self, column, since):
        """The percentage of a core that this processor time is, after these seconds."""
        chosen = [row for row in self.rows if row["second"] >= since] or self.rows
        first, last = chosen[0], chosen[-1]
        if last["second"] == first["second"]:
            return 0.0
        return 100 * (last[column] - first[column]) / (last["second"] - first["second"])
