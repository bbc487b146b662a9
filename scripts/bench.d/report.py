"""Prints the results, as a table for people and as JSON for programs."""
import json


class Figure:
    """One result: Errand's, the raw limit, the peers', and the target.

    target: ("min" or "max", number), or None where the figure is only shown.
    """

    def __init__(self, name, unit, ours, raw=None, peers=None, target=None, samples="", note=""):
        self.name, self.unit, self.ours, self.raw = name, unit, ours, raw
        self.peers = {name: value for name, value in (peers or {}).items() if value is not None}
        self.target, self.samples, self.note = target, samples, note

    @property
    def verdict(self):
        if not self.target:
            return ""
        kind, limit = self.target
        met = self.ours >= limit if kind == "min" else self.ours <= limit
        return "met" if met else "MISSED"

    def ratio(self, other):
        """The ratio of Errand's result to another, as x times."""
        return self.ours / other if other and self.ours is not None else None

    def fields(self):
        return {
            "name": self.name, "unit": self.unit, "ours": self.ours, "raw": self.raw,
            "ratio_to_raw": self.ratio(self.raw), "peers": self.peers,
            "ratio_to_peers": {name: self.ratio(value) for name, value in self.peers.items()},
            "target": self.target and {"kind": self.target[0], "value": self.target[1]},
            "met": self.verdict != "MISSED" if self.target else None,
            "samples": self.samples, "note": self.note,
        }


def number(value):
    if value is None:
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def with_ratio(figure, value):
    ratio = figure.ratio(value)
    return f"{number(value)} (x{number(ratio)})" if ratio else number(value)


class Report:
    """Collects figures and prints each section as it is done."""

    def __init__(self, peer_names):
        self.peer_names, self.facts, self.figures = peer_names, {}, []

    def show(self, section, figures, seconds):
        self.figures += [(section, figure) for figure in figures]
        heads = ["figure", "ours", "raw limit", *self.peer_names, "aim", "", "samples"]
        rows = [heads]
        for figure in figures:
            aim = ""
            if figure.target:
                aim = {"min": "≥ ", "max": "≤ "}[figure.target[0]] + number(figure.target[1])
            rows.append([
                f"{figure.name}, {figure.unit}", number(figure.ours),
                with_ratio(figure, figure.raw),
                *(with_ratio(figure, figure.peers.get(name)) for name in self.peer_names),
                aim, figure.verdict, str(figure.samples)])
        widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
        print(f"\n== {section} ({seconds:.0f} s)")
        for row in rows:
            cells = [row[0].ljust(widths[0])]
            cells += [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1])]
            print("  ".join([*cells, row[-1]]).rstrip())
        for figure in figures:
            if figure.note:
                print(f"   {figure.name}: {figure.note}")
        print(flush=True)

    def write(self, path):
        rows = [{"section": section} | figure.fields() for section, figure in self.figures]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"facts": self.facts, "figures": rows}, file, indent=2)
            file.write("\n")
