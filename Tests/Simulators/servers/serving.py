"""What the simulators have in common: their rules' options, and how they run and end."""
import asyncio
import fnmatch
import os
import re
import signal

RULE = re.compile(r"(?P<stage>[a-z]+)(?::(?P<pattern>[^=#]+))?(?:#(?P<times>\d+))?=(?P<answer>.+)")


class Rule:
    """One request to fail, or to answer in a way of one's own."""

    stages = ()

    def __init__(self, text):
        match = RULE.fullmatch(text.strip())
        if match is None or match["stage"] not in self.stages:
            raise ValueError(f"rule {text!r}: expected STAGE[:PATTERN][#TIMES]=ANSWER "
                             f"with a stage of {', '.join(self.stages)}")
        self.stage = match["stage"]
        self.pattern = match["pattern"]
        self.left = int(match["times"]) if match["times"] else None
        self.answer = self.read(match["answer"].strip(), text)

    def read(self, answer, rule):
        """What is done, from its text."""
        raise NotImplementedError

    def is_about(self, subject):
        return self.pattern is None or fnmatch.fnmatchcase(subject, self.pattern)

    def holds(self, subject):
        if self.left == 0 or not self.is_about(subject):
            return False
        if self.left is not None:
            self.left -= 1
        return True


def add_options(parser):
    parser.add_argument("--with-parent", action="store_true",
                        help="end when the process that started this one has ended")
    parser.add_argument("--script", metavar="FILE", help="a file of rules")
    parser.add_argument("--fail", metavar="RULE", action="append", default=[])


def rules(parser, options, rule):
    """The rules of the options, each made by `rule`; a bad one ends the program with its text."""
    try:
        lines = list(options.fail)
        if options.script:
            with open(options.script, encoding="utf-8") as file:
                lines += [line for line in file if line.strip() and not line.startswith("#")]
        return [rule(line) for line in lines]
    except (ValueError, OSError) as error:
        parser.error(str(error))


async def run(protocol, options, host="127.0.0.1", port=0, context=None, beat=None, every=1):
    """Listens, says where, and serves until SIGTERM, or until the parent has ended.

    `beat` is called every so many seconds.
    """
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    endings = (signal.SIGTERM, signal.SIGINT)
    for number in endings:
        loop.add_signal_handler(number, stop.set)
    # A parent's thread may have had them blocked, and a child inherits that.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, endings)
    parent = os.getppid()
    listener = await loop.create_server(protocol, host, port, backlog=512, ssl=context)
    address, bound = listener.sockets[0].getsockname()[:2]
    print(f"LISTENING {address}:{bound}", flush=True)
    while not stop.is_set():
        try:
            await asyncio.wait_for(stop.wait(), every)
        except asyncio.TimeoutError:
            if beat:
                beat()
            if options.with_parent and os.getppid() != parent:
                break
    listener.close()
