"""Payment files: from payments in memory to files on disk."""
from measure import run
from report import Figure


def files(place, ours, peers):
    count = place.size(100_000, 1_000_000)
    found, _ = run([place.bench, "files", "--payments", count, "--folder", place.folder.name], {})
    both = found["aft_seconds"] + found["nacha_seconds"]
    samples = f"{count:,} payments each"
    return [
        Figure("AFT file", "s", found["aft_seconds"], samples=samples),
        Figure("Nacha file", "s", found["nacha_seconds"], samples=samples),
        Figure("both", "s", both, target=("max", 60 * count / 1_000_000), samples=samples),
        Figure("memory, both", "MiB", found["peak_mib"], target=("max", 300), samples=samples),
        Figure("cheques as PDF", "s", found["cheque_seconds"], samples="500 in one file"),
    ]
