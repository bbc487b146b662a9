"""Checks Swift files: forbidden constructs, sizes, and tests that never run."""
import re
from collections import Counter

from linting.swift_source import attributes_before, functions, visible_signatures
from linting.targets import FLOORS, TESTS

FUNCTION_LINES = 70
# These begin with a letter, which makes them fast: what stands before is looked at afterwards.
POINTER = re.compile(
    r"(?:Unsafe(?<!\wUnsafe)\w*Pointer|OpaquePointer(?<!\wOpaquePointer)"
    r"|CVaListPointer(?<!\wCVaListPointer)|Unmanaged(?<!\wUnmanaged))\b")
UNSAFE = re.compile(r"unsafe(?<![\w(]unsafe)\b")
UNCHECKED = re.compile(r"@unchecked\s+Sendable|nonisolated\(unsafe\)")
FORCED = re.compile(r"try!(?<!\wtry!)|as!(?<!\was!)|fatalError\((?<!\wfatalError\()")
PRINTED = re.compile(r"print\((?<![\w.]print\()|debugPrint\((?<![\w.]debugPrint\()")
ABOVE_WRAPPERS = range(FLOORS.index("Basics"), TESTS)

# Above the wrappers, only these targets may call the C library: each wraps it for its purpose, and
# all calls use a path, a descriptor or a buffer of their own.
UNSAFE_ALLOWED = {
    "ErrandDurableFiles",  # link, fsync and rename
    "ErrandRecurrence",  # the system's time zone files, by stat, open and read
    "ErrandTerminal",  # settings of terminals, reading keys and secret files
}


def check_safety(tree, path, source, target):
    def add(pattern, rule, advice):
        for match in pattern.finditer(source.code):
            tree.add(path, source.line(match.start()), rule, advice)

    has_pointer = POINTER.search(source.code)
    if target and target.floor in ABOVE_WRAPPERS and target.name not in UNSAFE_ALLOWED:
        add(UNSAFE, "unsafe", "pointers and `unsafe` stop in the wrappers")
        add(POINTER, "unsafe", "pointers and `unsafe` stop in the wrappers")
    for place, signature in visible_signatures(source.code) if has_pointer else ():
        if POINTER.search(signature):
            tree.add(path, source.line(place), "unsafe", "no pointer in what others can see")
    for match in UNCHECKED.finditer(source.code):
        number = source.line(match.start())
        if number < 2 or not source.text.split("\n")[number - 2].strip().startswith("//"):
            tree.add(path, number, "unchecked", "say in the line above what makes it safe")
    if not path.startswith("Tests/"):
        add(FORCED, "forced", "throw an error that says what to do instead")
        add(PRINTED, "leftover", "what is printed goes through ErrandTerminal")


def check_sizes(tree, path, source, found):
    for name, begin, end in found:
        first = source.line(begin)
        length = source.line(end) - first + 1
        if length > FUNCTION_LINES:
            tree.add(path, first, "size",
                     f"{name} has {length} lines, {FUNCTION_LINES} allowed: split it")


# The compiler and the test library call these.
CALLED_BY_LANGUAGE = {"init", "deinit", "subscript", "provideScope"}


def check_tests(tree, manifest, found):
    all_code = "\n".join(s.code for p, s in tree.swift.items() if p.startswith("Tests/"))
    words = Counter(re.findall(r"\w+", all_code))
    declared = Counter(re.findall(r"\bfunc\s+`?(\w+)`?\s*[(<]", all_code))
    for path, source in tree.swift.items():
        target = manifest.target_of(path)
        # Samples are compiled and compared with the documentation.
        if not target or target.kind != "test" or "/Documentation/Samples/" in path:
            continue
        for name, begin, _ in found[path]:
            if not re.match(r"`|\w", name) or name in CALLED_BY_LANGUAGE:
                continue
            bare = name.strip("`")
            # A function with spaces in its name is only for @Test.
            if words[bare] > declared[bare]:
                continue
            if not re.search(r"@Test\b|\boverride\b", attributes_before(source.code, begin)):
                tree.add(path, source.line(begin), "tests",
                         f"{name} has no @Test and nothing calls it")


def check(tree, manifest):
    found = {path: list(functions(source.code)) for path, source in tree.swift.items()}
    for path, source in tree.swift.items():
        check_safety(tree, path, source, manifest.target_of(path))
        check_sizes(tree, path, source, found[path])
    check_tests(tree, manifest, found)
