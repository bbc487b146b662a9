"""The form of a function's comment.

Text at the first column is the description; these headings follow it, in this order:

    Arguments:   "  name: text", for each argument
    Returns:     "  name: text", for each column, or one of any name for a single value
    Reasons:     "  word: text", for each refusal of a rule
    Errors:      "  SQLSTATE: text"
    Repeated: …  what a second call with the same arguments does
    Sample:      a statement, indented by two

Entries go on in lines that are indented by four.
"""
import dataclasses
import re

HEADINGS = ["Arguments", "Returns", "Reasons", "Errors", "Repeated", "Sample"]


@dataclasses.dataclass
class Comment:
    """What a comment says."""
    text: str = ""
    repeated: str = ""
    sample: str = ""
    entries: dict = dataclasses.field(default_factory=dict)


def read(written):
    """Returns the comment, and the faults of its form."""
    comment, faults = Comment(), []
    heading, place = None, -1
    description, repeated, sample = [], [], []
    for line in written.strip("\n").splitlines():
        found = re.match(r"([A-Z][a-z]+):(?: (.*))?$", line)
        if found and found[1] in HEADINGS:
            heading = found[1]
            if HEADINGS.index(heading) <= place:
                faults.append(f"{heading}: stands twice, or not in order")
            place = HEADINGS.index(heading)
            if heading == "Repeated":
                repeated.append(found[2] or "")
            elif found[2]:
                faults.append(f"{heading}: text on the line of the heading")
        elif heading is None:
            description.append(line)
        elif heading == "Repeated":
            repeated.append(line.strip())
        elif heading == "Sample":
            sample.append(line[2:] if line.startswith("  ") else line)
        else:
            _entry(comment.entries.setdefault(heading, {}), line, heading, faults)
    comment.text = "\n".join(description).strip()
    comment.repeated = " ".join(repeated).strip()
    comment.sample = "\n".join(sample).strip("\n")
    for name in ["text", "repeated", "sample"]:
        if not getattr(comment, name):
            faults.append(f"no {'description' if name == 'text' else name}")
    return comment, faults


def _entry(entries, line, heading, faults):
    found = re.match(r"  ([A-Za-z0-9_]+(?:, [A-Za-z0-9_]+)*): (.+)$", line)
    if found:
        for name in found[1].split(", "):
            entries[name] = found[2].strip()
    elif line.startswith("    ") and entries:
        last = list(entries)[-1]
        entries[last] += " " + line.strip()
    elif line.strip():
        faults.append(f"{heading}: cannot read the line '{line}'")
