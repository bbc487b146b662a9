"""The engine's SQL, read out of its sources, so that the bare loops run the very same."""
import json
import pathlib
import re
import textwrap

NAMES = ["claim", "complete", "enqueueNow", "copy", "registerWorker"]


def write(root, path):
    """Writes the statements that the bare loops need as JSON."""
    source = "\n".join(
        file.read_text() for file in pathlib.Path(root, "Sources/JobQueue/Statements").glob("*"))
    found = {}
    for name in NAMES:
        text = re.search(rf'static let {name} = """\n(.*?)\n\s*"""', source, re.S)
        if not text:
            raise LookupError(f"Sources/JobQueue/Statements holds no statement {name}")
        found[name] = textwrap.dedent(text[1])
    setup = re.search(r"static let sessionSetup = \[(.*?)\]", source, re.S)
    found["sessionSetup"] = re.findall(r'"(.*?)"', setup[1])
    pathlib.Path(path).write_text(json.dumps(found))
