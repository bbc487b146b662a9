"""Plants faults in a copy of a folder, one at a time, to see that a check finds each."""
import os
import shutil
import tempfile


def missed(root, faults, check):
    """What `check(copy, path)`, which returns its findings, did not find.

    A fault is (file, what stands there, what is put there, what must be said about it).
    """
    unseen = []
    for path, old, new, said in faults:
        with tempfile.TemporaryDirectory() as scratch:
            copy = os.path.join(scratch, "copy")
            shutil.copytree(root, copy)
            with open(os.path.join(copy, path), encoding="utf-8") as file:
                text = file.read()
            if old not in text:
                unseen.append(f"{path}: {old!r} is not there")
                continue
            with open(os.path.join(copy, path), "w", encoding="utf-8") as file:
                file.write(text.replace(old, new, 1))
            findings = check(copy, path)
            if not any(said in finding for finding in findings):
                unseen.append(f"{path}: {new!r}: expected {said!r}, found {findings}")
    print(f"{len(faults) - len(unseen)} of {len(faults)} faults were found")
    return unseen
