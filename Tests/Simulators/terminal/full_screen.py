"""Runs a full-screen program on a terminal of its own and says what the screen shows.

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
"alternate": true or false, "cooked": true or false}. The screen is pyte's, which shares no code
with ours. A wait that takes over a minute prints {"missing": "REGEX", …} and ends with 1. For
programs that print lines, terminal.py is enough.
"""
import json
import os
import re
import subprocess
import sys
import termios
import time

import pyte

import terminal

PATIENCE = 60


class FullScreen(terminal.Terminal):
    def __init__(self, rows, columns, words):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.alternate = False
        super().__init__(rows, columns, words)

    def resize(self, rows, columns):
        self.screen.resize(rows, columns)
        super().resize(rows, columns)

    def read(self, seconds):
        before = len(self.seen)
        is_open = super().read(seconds)
        data = self.seen[before:]
        on, off = data.rfind(b"\x1b[?1049h"), data.rfind(b"\x1b[?1049l")
        if on != off:
            self.alternate = on > off
        self.stream.feed(data)
        return is_open

    def shown(self):
        rows = [self.screen.buffer[row] for row in range(self.screen.lines)]
        return {
            "lines": [line.rstrip() for line in self.screen.display],
            "reversed": [place for place, row in enumerate(rows)
                         if any(cell.reverse for cell in row.values())],
            "colored": any(cell.fg != "default" for row in rows for cell in row.values()),
            "alternate": self.alternate,
            "cooked": bool(termios.tcgetattr(self.side)[3] & termios.ICANON),
        }

    def wait_for(self, pattern, wanted):
        end = time.monotonic() + PATIENCE
        while any(re.search(pattern, line) for line in self.screen.display) != wanted:
            if time.monotonic() > end or not self.read(0.2):
                self.give_up(pattern)
        report(self.shown())

    def end(self, signal):
        if signal is not None:
            os.kill(self.child, signal)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if not self.read(0.2):
                time.sleep(0.02)
            child, status = os.waitpid(self.child, os.WNOHANG)
            if child:
                self.read(0)
                report({"code": os.waitstatus_to_exitcode(status), **self.shown()})
                return
        self.give_up("the end")

    def give_up(self, pattern):
        report({"missing": pattern, **self.shown()})
        sys.exit(1)


def report(value):
    print(json.dumps(value), flush=True)


def main():
    program = FullScreen(int(sys.argv[2]), int(sys.argv[1]), sys.argv[3:])
    for line in sys.stdin:
        step = json.loads(line)
        if "wait" in step:
            program.wait_for(step["wait"], True)
        elif "gone" in step:
            program.wait_for(step["gone"], False)
        elif "press" in step:
            os.write(program.side, step["press"].encode())
        elif "resize" in step:
            columns, rows = step["resize"]
            program.resize(rows, columns)
        elif "run" in step:
            code = subprocess.run(step["run"], check=False, stdout=subprocess.DEVNULL).returncode
            report({"code": code})
        else:
            program.end(step["end"])


if __name__ == "__main__":
    main()
