#!/usr/bin/env python3
"""Runs a program on a terminal of its own, as a person would see it.

    terminal.py ROWS COLUMNS PROGRAM [ARGUMENT...] < steps

Standard input has one step a line, each a JSON object:

    {"wait": "text"}      until the program has printed this after the step before; at most 20 s
    {"send": "keys"}      typed; \\r is the enter key, \\u0003 is Ctrl-C
    {"signal": "TERM"}    sent to the program
    {"resize": [50, 200]} the terminal gets as many lines and columns
    {"close": true}       the terminal goes away

Then it waits for the program's end, and prints one JSON object: "code" (negative for a signal),
"output" (everything printed, as it came) and "parts" (what came up to each step's end). When
something does not come in time, "late" names the step, and the program is killed.
"""
import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

PATIENCE = 20.0


class Late(Exception):
    pass


class Terminal:
    def __init__(self, rows, columns, words):
        self.seen = b""
        self.begin = 0
        self.child, self.side = pty.fork()
        if self.child == 0:
            try:
                # The size must be there before the program asks for it.
                size = struct.pack("HHHH", rows, columns, 0, 0)
                fcntl.ioctl(0, termios.TIOCSWINSZ, size)
                signal.pthread_sigmask(signal.SIG_SETMASK, [])
                os.execv(words[0], words)
            finally:
                os._exit(127)

    def resize(self, rows, columns):
        fcntl.ioctl(self.side, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        """Takes what comes within that time; false when the program has closed the terminal."""
        if self.side is None:
            return False
        if not select.select([self.side], [], [], max(0, seconds))[0]:
            return True
        try:
            piece = os.read(self.side, 65536)
        except OSError:  # Linux answers EIO once the other side is closed
            piece = b""
        self.seen += piece
        return bool(piece)

    def wait(self, text):
        wanted = text.encode()
        end = time.monotonic() + PATIENCE
        while True:
            found = self.seen.find(wanted, self.begin)
            if found >= 0:
                self.begin = found + len(wanted)
                return
            left = end - time.monotonic()
            if left <= 0 or not self.read(left):
                raise Late(text)

    def step(self, step):
        for name, value in step.items():
            if name == "wait":
                self.wait(value)
            elif name == "send":
                os.write(self.side, value.encode())
            elif name == "signal":
                os.kill(self.child, getattr(signal, "SIG" + value))
            elif name == "resize":
                self.resize(*value)
            elif name == "close":
                os.close(self.side)
                self.side = None
            else:
                raise SystemExit(f"unknown step {name}")

    def finish(self, is_late):
        end = time.monotonic() + (0 if is_late else PATIENCE)
        while True:
            is_open = self.read(0.05)
            child, status = os.waitpid(self.child, os.WNOHANG)
            if child:
                while self.side is not None and self.read(0) and select.select(
                        [self.side], [], [], 0)[0]:
                    pass
                return os.waitstatus_to_exitcode(status), is_late
            if not is_open:
                time.sleep(0.02)
            if time.monotonic() >= end:
                os.kill(self.child, signal.SIGKILL)
                is_late, end = True, time.monotonic() + PATIENCE


def main():
    rows, columns, words = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    steps = [json.loads(line) for line in sys.stdin if line.strip()]
    terminal = Terminal(rows, columns, words)
    late, parts = None, []
    for step in steps:
        start = terminal.begin
        try:
            terminal.step(step)
        except Late:
            late = step
            break
        parts.append(terminal.seen[start:terminal.begin].decode(errors="replace"))
    code, is_late = terminal.finish(late is not None)
    if is_late and late is None:
        late = {"end": True}
    print(json.dumps({
        "code": code, "output": terminal.seen.decode(errors="replace"), "parts": parts,
        "late": late and {k: str(v) for k, v in late.items()}}))


if __name__ == "__main__":
    main()
