"""Runs a program in a terminal of its own, presses keys and says what the screen shows.

    full_screen.py COLUMNS ROWS PROGRAM [ARGUMENT...] <steps >screens

Each line of the input is a step, a JSON object; each step but "press" and "resize" prints a line
of JSON:

    {"wait": "REGEX"}             until some line of the screen matches; prints the screen
    {"gone": "REGEX"}             until no line matches; prints the screen
    {"press": "TEXT"}             sends it to the program, as typed
    {"resize": [COLUMNS, ROWS]}
    {"run": ["PROGRAM", …]}       runs something else meanwhile; prints its exit code
    {"end": SIGNAL or null}       sends the signal, waits for the end and prints how it ended

A screen is {"lines": […], "reversed": [rows with reversed characters], "colored": true or false,
"alternate": true or false, "cooked": true or false}. The terminal is pyte's, which shares no code
with ours. A wait that takes over a minute prints {"missing": "REGEX", …} and ends with 1.
"""
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

import pyte

PATIENCE = 60


class Terminal:
    def __init__(self, columns, rows, words):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.alternate = False
        self.code = None
        self.child, self.master = pty.fork()
        if self.child == 0:
            self.set_size(0, columns, rows)
            os.environ["TERM"] = os.environ.get("TERM") or "xterm"
            os.execvp(words[0], words)

    @staticmethod
    def set_size(descriptor, columns, rows):
        fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns, rows):
        self.screen.resize(rows, columns)
        self.set_size(self.master, columns, rows)

    def press(self, text):
        os.write(self.master, text.encode())

    def read(self, seconds):
        """Takes what the program has written; false when it has ended."""
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        for on, off in [(b"\x1b[?1049h", b"\x1b[?1049l")]:
            first, last = data.rfind(on), data.rfind(off)
            if first != last:
                self.alternate = first > last
        self.stream.feed(data)
        return bool(data)

    def shown(self):
        cells = self.screen.buffer
        rows = range(self.screen.lines)
        return {
            "lines": [line.rstrip() for line in self.screen.display],
            "reversed": [row for row in rows
                         if any(cell.reverse for cell in cells[row].values())],
            "colored": any(cell.fg != "default" for row in rows
                           for cell in cells[row].values()),
            "alternate": self.alternate,
            "cooked": self.is_cooked(),
        }

    def is_cooked(self):
        try:
            return bool(termios.tcgetattr(self.master)[3] & termios.ICANON)
        except termios.error:
            return None

    def wait(self, pattern, wanted):
        end = time.monotonic() + PATIENCE
        while any(re.search(pattern, line) for line in self.screen.display) != wanted:
            if time.monotonic() > end or not self.read(0.2):
                report({"missing": pattern, **self.shown()})
                sys.exit(1)
        report(self.shown())

    def end(self, signal):
        if signal is not None:
            os.kill(self.child, signal)
        end = time.monotonic() + PATIENCE
        while self.read(0.2) and time.monotonic() < end:
            pass
        while time.monotonic() < end:
            pid, status = os.waitpid(self.child, os.WNOHANG)
            if pid:
                report({"code": os.waitstatus_to_exitcode(status), **self.shown()})
                return
            time.sleep(0.02)
        report({"missing": "the end", **self.shown()})
        sys.exit(1)


def report(value):
    print(json.dumps(value), flush=True)


def main():
    terminal = Terminal(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
    for line in sys.stdin:
        step = json.loads(line)
        if "wait" in step:
            terminal.wait(step["wait"], True)
        elif "gone" in step:
            terminal.wait(step["gone"], False)
        elif "press" in step:
            terminal.press(step["press"])
        elif "resize" in step:
            terminal.resize(*step["resize"])
        elif "run" in step:
            report({"code": subprocess.run(
                step["run"], check=False, stdout=subprocess.DEVNULL).returncode})
        else:
            terminal.end(step["end"])


if __name__ == "__main__":
    main()
