"""Shows that each rule of scripts/lint finds what it is there for."""
import os
import shutil
import subprocess
import tempfile

LONG = "let planted = " + " + ".join(["1000"] * 20) + "\n"
BODY = "".join(f"    _ = {n}\n" for n in range(70))

# Files to add: path, content, and the rules that must find something in it (and no others).
FILES = [
    ("Sources/JobQueue/Planted1.swift", "let  planted=1\n", {"format"}),
    ("Sources/Delivery/Planted2.swift", "import JobQueue\n", {"imports"}),
    ("Sources/JobQueue/Planted3.swift", "package import struct Foundation.URL\n", {"imports"}),
    ("Sources/Planted4/Planted4.swift", "let planted = 1\n", {"imports"}),
    ("Sources/JobQueue/Planted5.swift", "let planted: OpaquePointer? = nil\n", {"unsafe"}),
    ("Sources/JobQueue/Planted6.swift", "let planted = unsafe planting()\n", {"unsafe"}),
    ("Sources/Redis/Planted7.swift",
     "package func planted(\n    from: Int,\n    to: UnsafeRawPointer\n) {}\n", {"unsafe"}),
    ("Sources/Redis/Planted8.swift",
     "final class Planted: @unchecked Sendable {}\n", {"unchecked"}),
    ("Sources/Redis/Planted9.swift",
     "func planted() { fatalError(\"\\(1)\") }\n", {"forced"}),
    ("Sources/Redis/Planted10.swift", "let planted = 1 as! Int\n", {"forced", "format"}),
    ("Sources/Redis/Planted11.swift", "func planted() { print(1) }\n", {"leftover"}),
    ("Sources/Redis/Planted12.swift", "// FIXME: later\n", {"leftover"}),
    ("Sources/Redis/Planted13.swift", "let planted = 1\n" * 401, {"size"}),
    ("Sources/Redis/Planted14.swift", "func planted() {\n" + BODY + "}\n", {"size"}),
    ("migrations/Planted15.swift", 'let planted = """\n    ' + "x" * 100 + '\n    """\n',
     {"size"}),
    ("Sources/Redis/PlantedUtils.swift", "let planted = 1\n", {"name"}),
    ("Tests/RedisTests/Planted16.swift",
     "struct Planted {\n    @Test(arguments: [{ 1 }, { 2 }]) func run() {}\n\n"
     "    func neverRunAtAll() {}\n}\n", {"tests"}),
    ("migrations/099_planted.sql", "SELECT 1;\n", {"migrations"}),
    ("scripts/planted17", "cd /home/somebody\n", {"paths"}),
    ("scripts/planted18", "pip install --index-url https://pypi.org/simple x\n", {"paths"}),
    ("scripts/planted19", "#!/usr/bin/env bash\nif\n", {"shell"}),
]

# Files to change: path, what stands there, what takes its place, the rule.
CHANGES = [
    ("Package.swift", '"Delivery", uses: ["Crypto", "HTTP"]',
     '"Delivery", uses: ["Crypto", "HTTP", "Redis"]', {"manifest", "migrations"}),
    ("migrations/001_jobs.sql", "CREATE", "create", {"migrations"}),
]

# Code that looks like a violation and is none.
INNOCENT = (
    "Sources/JobQueue/Planted20.swift",
    "// unsafe, try! and print(1) in a comment\n"
    'let planted = "try! unsafe \\("print(1)") as! " + #"fatalError("unsafe")"#\n'
    'let text = """\n    import Coupons; OpaquePointer "quoted" try!\n    """\n'
    "/* unsafe /* print(1) */ try! */\n"
    "protocol Planting {\n    func planted(_ print: Int) -> Int\n    init()\n}\n",
)


def run(root, check):
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "copy")
        copy_tree(root, copy)
        expected = plant(root, copy)
        found = set()
        wrong = []
        for path, line, rule, text in check(copy):
            found.add((path, rule))
            if (path, rule) not in expected:
                wrong.append(f"wrongly found: {path}:{line}: {rule}: {text}")
    wrong += [f"not found: {rule} in {path}" for path, rule in sorted(expected - found)]
    for text in wrong:
        print(f"scripts/lint --self-test: {text}")
    if not wrong:
        rules = len({rule for _, rule in expected})
        print(f"lint: {rules} rules found their {len(expected)} planted violations")
    return 1 if wrong else 0


def copy_tree(root, copy):
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root, capture_output=True, text=True, check=True).stdout.split("\0")
    for path in listed:
        source, target = os.path.join(root, path), os.path.join(copy, path)
        if path and os.path.isfile(source):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(source, target)
    subprocess.run(["git", "init", "-q"], cwd=copy, check=True)


def plant(root, copy):
    """Plants everything; returns what must be found, as pairs of path and rule."""
    release(copy, "001_jobs.sql")
    expected = set()
    for path, content, rules in FILES:
        write(os.path.join(copy, path), content)
        expected |= {(path, rule) for rule in rules}
    for path, old, new, rules in CHANGES:
        with open(os.path.join(root, path), encoding="utf-8") as file:
            content = file.read()
        if old not in content:
            raise SystemExit(f"scripts/lint --self-test: {path} no longer holds {old}")
        write(os.path.join(copy, path), content.replace(old, new, 1))
        expected |= {(path, rule) for rule in rules}
    write(os.path.join(copy, INNOCENT[0]), INNOCENT[1])
    return expected


def release(copy, name):
    line = subprocess.run(
        ["sha256sum", name], cwd=os.path.join(copy, "migrations"), capture_output=True,
        text=True, check=True).stdout
    with open(os.path.join(copy, "migrations/released.txt"), "a", encoding="utf-8") as file:
        file.write(line)


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)
