#!/usr/bin/env python3
"""A mail server for tests and demonstrations: it keeps every mail and fails on request.

Prints `LISTENING host:port` when ready, and ends on SIGTERM. Each mail is a numbered .eml file in
the folder, and a line of index.ndjson with its envelope. A mail is on disk before it is
acknowledged; with --single-file it is in mails.mbox within a tenth of a second.

Rules (--fail, or one a line in the --script file; # begins a comment line):

    STAGE[:PATTERN][#TIMES]=ANSWER

    STAGE    connect, ehlo, starttls, auth, mail, rcpt, data, or end (after the final dot)
    PATTERN  shell pattern: for mail the sender, for rcpt the recipient, for data and end the
             first recipient
    TIMES    the rule holds for so many matches only
    ANSWER   "550 5.1.1 no such user" says so instead of going on ("\\n" parts lines)
             "drop" closes the connection without a word (at `end` the mail was kept)
             "slow SECONDS" waits, then goes on

for example --fail 'rcpt:nobody@*=550 5.1.1 no such user' --fail 'connect#2=421 too busy'
"""

import argparse
import asyncio
import base64
import binascii
import fnmatch
import itertools
import json
import os
import re
import ssl
import sys
import time

import serving

SIZE_LIMIT = 10 * 1024 * 1024
LINE_LIMIT = 4096
STAGES = ("connect", "ehlo", "starttls", "auth", "mail", "rcpt", "data", "end")
MESSAGE_ID = re.compile(rb"^message-id:\s*(\S+)", re.IGNORECASE | re.MULTILINE)


class Rule(serving.Rule):
    stages = STAGES

    def read(self, answer, rule):
        self.drop = answer == "drop"
        self.delay = None
        if answer.startswith("slow "):
            self.delay = float(answer[5:])
        elif not self.drop and not re.match(r"[2-5]\d\d[ -]", answer):
            raise ValueError(
                f"rule {rule!r}: expected drop, slow SECONDS, or a reply code and text")
        return answer

    def is_about(self, subject):
        return self.pattern is None or fnmatch.fnmatch(subject.lower(), self.pattern.lower())


class Store:
    """Where mail is kept."""

    def __init__(self, folder, single_file):
        self.folder = folder
        self.single_file = single_file
        os.makedirs(folder, exist_ok=True)
        index = os.path.join(folder, "index.ndjson")
        known = sum(1 for _ in open(index, "rb")) if os.path.exists(index) else 0
        self.numbers = itertools.count(known + 1)
        self.index = open(index, "ab")
        self.box = open(os.path.join(folder, "mails.mbox"), "ab") if single_file else None

    def keep(self, session, content):
        number = next(self.numbers)
        name = "mails.mbox" if self.single_file else f"{number:06}.eml"
        found = MESSAGE_ID.search(content.partition(b"\r\n\r\n")[0])
        now = time.time()
        entry = {
            "number": number, "file": name, "connection": session.number,
            "from": session.sender, "to": session.recipients, "user": session.user,
            "tls": session.encrypted, "hello": session.hello,
            "message_id": found[1].decode("ascii", "replace") if found else None,
            "size": len(content),
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
            + f".{int(now * 1000) % 1000:03}Z",
        }
        if self.single_file:
            lines = re.sub(rb"(?m)^(>*From )", rb">\1", content.replace(b"\r\n", b"\n"))
            date = time.strftime("%a %b %d %H:%M:%S %Y", time.gmtime(now)).encode()
            self.box.write(b"From " + (session.sender or "MAILER-DAEMON").encode() + b" " + date
                           + b"\n" + lines + b"\n")
        else:
            with open(os.path.join(self.folder, name), "wb") as file:
                file.write(content)
        self.index.write(json.dumps(entry).encode() + b"\n")
        if not self.single_file:
            self.index.flush()

    def flush(self):
        self.index.flush()
        if self.box:
            self.box.flush()


class Server:
    """What all conversations share."""

    def __init__(self, options, store, rules, context):
        self.options = options
        self.store = store
        self.rules = {stage: [r for r in rules if r.stage == stage] for stage in STAGES}
        self.context = context
        self.account = options.require_auth
        self.numbers = itertools.count(1)
        self.sessions = set()
        self.tasks = set()

    def rule(self, stage, subject=""):
        for rule in self.rules[stage]:
            if rule.holds(subject):
                return rule
        return None


class Session(asyncio.Protocol):
    """One connection: commands and mail come in, in pieces of any size; replies go out."""

    def __init__(self, server):
        self.server = server
        self.number = next(server.numbers)
        self.buffer = bytearray()
        self.searched = 0
        self.waiting = False
        self.in_data = False
        self.reading_auth = None
        self.encrypted = server.options.tls
        self.user = None
        self.hello = None
        self.upgrading = False
        self.transport = None
        self.reset()

    def reset(self):
        self.sender = None
        self.recipients = []

    # The connection's life

    def connection_made(self, transport):
        self.transport = transport
        if self.upgrading:
            self.upgrading = False
            self.encrypted = True
            self.hello = self.user = None
            self.reset()
            return
        self.server.sessions.add(self)
        self.pass_rule("connect", "", lambda: self.say("220 localhost ESMTP sink"),
                       close_after_reply=True)

    def connection_lost(self, error):
        self.server.sessions.discard(self)

    def data_received(self, data):
        self.buffer += data
        self.work()

    def work(self):
        """Deals with whatever is complete in the buffer, until something must be waited for."""
        while self.buffer and not self.waiting and not self.transport.is_closing():
            if self.in_data:
                if not self.take_mail():
                    return
                continue
            end = self.buffer.find(b"\n")
            if end < 0:
                if len(self.buffer) > LINE_LIMIT:
                    self.say("500 5.5.2 line too long")
                    self.transport.close()
                return
            line = bytes(self.buffer[:end]).rstrip(b"\r").decode("utf-8", "replace")
            del self.buffer[:end + 1]
            self.command(line)

    def say(self, text):
        self.transport.write(text.replace("\n", "\r\n").encode() + b"\r\n")

    def pass_rule(self, stage, subject, go_on, close_after_reply=False):
        """Goes on, unless a rule says otherwise."""
        rule = self.server.rule(stage, subject)
        if rule is None:
            go_on()
        elif rule.drop:
            self.transport.abort()
        elif rule.delay is not None:
            self.waiting = True
            asyncio.get_running_loop().call_later(rule.delay, self.resume, go_on)
        else:
            answer = rule.answer.replace("\\n", "\n")
            self.say(answer)
            if close_after_reply or answer.startswith("421"):
                self.transport.close()

    def resume(self, go_on):
        self.waiting = False
        if not self.transport.is_closing():
            go_on()
            self.work()

    # Commands

    def command(self, line):
        if self.reading_auth is not None:
            self.reading_auth(line)
            return
        verb, _, rest = line.partition(" ")
        handler = self.VERBS.get(verb.upper())
        if handler is None:
            self.say("500 5.5.1 unknown command")
        else:
            handler(self, rest.strip())

    def do_hello(self, name, extended=True):
        if not name:
            self.say("501 5.5.4 a name is needed")
            return

        def go_on():
            self.hello = name
            self.reset()
            if not extended:
                self.say("250 localhost")
                return
            options = self.server.options
            lines = ["localhost", "PIPELINING", f"SIZE {SIZE_LIMIT}", "8BITMIME",
                     "ENHANCEDSTATUSCODES"]
            if self.server.context and not self.encrypted:
                lines.append("STARTTLS")
            if self.server.account and (self.encrypted or not options.auth_needs_tls):
                lines.append("AUTH PLAIN LOGIN")
            last = lines.pop()
            self.say("".join(f"250-{each}\n" for each in lines) + "250 " + last)

        self.pass_rule("ehlo", name, go_on)

    def do_helo(self, name):
        self.do_hello(name, extended=False)

    def do_starttls(self, rest):
        if self.encrypted or not self.server.context:
            self.say("503 5.5.1 TLS is not to be had now")
            return

        def go_on():
            self.waiting = True
            # What was sent in the clear behind STARTTLS must not count as said under TLS.
            self.buffer.clear()
            self.transport.pause_reading()
            self.say("220 2.0.0 go ahead")
            task = asyncio.ensure_future(self.encrypt())
            self.server.tasks.add(task)
            task.add_done_callback(self.server.tasks.discard)

        self.pass_rule("starttls", "", go_on)

    async def encrypt(self):
        self.upgrading = True
        plain = self.transport
        try:
            secure = await asyncio.get_running_loop().start_tls(
                plain, self, self.server.context, server_side=True)
        except (OSError, ssl.SSLError):
            plain.abort()
            return
        if secure is None:
            return
        if self.upgrading:
            self.connection_made(secure)
        self.transport = secure
        self.waiting = False
        self.work()

    def do_auth(self, rest):
        if not self.server.account:
            self.say("502 5.5.1 no accounts here")
        elif self.server.options.auth_needs_tls and not self.encrypted:
            self.say("538 5.7.11 encryption required")
        elif self.user is not None:
            self.say("503 5.5.1 logged in already")
        else:
            mechanism, _, initial = rest.partition(" ")
            if mechanism.upper() == "PLAIN":
                self.ask("334 ", self.finish_plain, initial.strip())
            elif mechanism.upper() == "LOGIN":
                self.ask("334 VXNlcm5hbWU6", self.continue_login, initial.strip())
            else:
                self.say("504 5.5.4 PLAIN or LOGIN")

    def ask(self, prompt, then, given=""):
        """Reads one base64 answer, unless it came with the command."""

        def take(line):
            self.reading_auth = None
            if line == "*":
                self.say("501 5.7.0 given up")
                return
            try:
                then(base64.b64decode("" if line == "=" else line, validate=True).decode())
            except (binascii.Error, UnicodeDecodeError):
                self.say("501 5.5.2 not base64")

        if given:
            take(given)
        else:
            self.reading_auth = take
            self.say(prompt)

    def finish_plain(self, answer):
        parts = answer.split("\0")
        if len(parts) == 3:
            self.log_in(parts[1], parts[2])
        else:
            self.say("501 5.5.2 not an answer to PLAIN")

    def continue_login(self, user):
        self.ask("334 UGFzc3dvcmQ6", lambda password: self.log_in(user, password))

    def log_in(self, user, password):
        def go_on():
            if f"{user}:{password}" == self.server.account:
                self.user = user
                self.say("235 2.7.0 welcome")
            else:
                self.say("535 5.7.8 user or password wrong")

        self.pass_rule("auth", user, go_on)

    def do_mail(self, rest):
        address, parameters = self.path(rest, "FROM:")
        if self.hello is None or self.sender is not None:
            self.say("503 5.5.1 not now")
        elif address is None:
            self.say("501 5.5.4 MAIL FROM:<address> is needed")
        elif self.server.account and self.user is None:
            self.say("530 5.7.0 log in first")
        elif any(p.upper().startswith("SIZE=") and p[5:].isdigit() and int(p[5:]) > SIZE_LIMIT
                 for p in parameters):
            self.say("552 5.3.4 too big")
        else:
            def go_on():
                self.sender = address
                self.say("250 2.1.0 ok")

            self.pass_rule("mail", address, go_on)

    def do_rcpt(self, rest):
        address, _ = self.path(rest, "TO:")
        if self.sender is None:
            self.say("503 5.5.1 MAIL first")
        elif not address:
            self.say("501 5.5.4 RCPT TO:<address> is needed")
        else:
            def go_on():
                self.recipients.append(address)
                self.say("250 2.1.5 ok")

            self.pass_rule("rcpt", address, go_on)

    @staticmethod
    def path(rest, keyword):
        if rest[:len(keyword)].upper() != keyword:
            return None, []
        match = re.match(r"\s*<([^<>\s]*)>(.*)", rest[len(keyword):])
        return (match[1], match[2].split()) if match else (None, [])

    def do_data(self, rest):
        if not self.recipients:
            self.say("503 5.5.1 RCPT first")
            return

        def go_on():
            self.in_data = True
            self.searched = 0
            self.say("354 end with a dot on a line of its own")

        self.pass_rule("data", self.recipients[0], go_on)

    def take_mail(self):
        """Keeps the mail at the head of the buffer; false when its end has not come yet."""
        if self.buffer.startswith(b".\r\n"):
            end, after = 0, 3
        else:
            end = self.buffer.find(b"\r\n.\r\n", max(0, self.searched - 4))
            if end < 0:
                self.searched = len(self.buffer)
                if len(self.buffer) > 2 * SIZE_LIMIT:
                    self.say("552 5.3.4 too big")
                    self.transport.close()
                return False
            end, after = end + 2, end + 5
        content = bytes(self.buffer[:end])
        del self.buffer[:after]
        self.in_data = False
        content = content.replace(b"\r\n..", b"\r\n.")
        if content.startswith(b".."):
            content = content[1:]
        rule = self.server.rule("end", self.recipients[0])
        if rule is None or rule.drop or rule.delay is not None:
            self.server.store.keep(self, content)
        self.reset()
        if rule is None:
            self.transport.write(b"250 2.0.0 kept\r\n")
        elif rule.drop:
            self.transport.abort()
        elif rule.delay is not None:
            self.waiting = True
            asyncio.get_running_loop().call_later(
                rule.delay, self.resume, lambda: self.say("250 2.0.0 kept"))
        else:
            self.say(rule.answer.replace("\\n", "\n"))
        return True

    def do_rset(self, rest):
        self.reset()
        self.say("250 2.0.0 ok")

    def do_noop(self, rest):
        self.say("250 2.0.0 ok")

    def do_vrfy(self, rest):
        self.say("252 2.5.0 send and see")

    def do_quit(self, rest):
        self.say("221 2.0.0 bye")
        self.transport.close()

    VERBS = {
        "EHLO": do_hello, "HELO": do_helo, "STARTTLS": do_starttls, "AUTH": do_auth,
        "MAIL": do_mail, "RCPT": do_rcpt, "DATA": do_data, "RSET": do_rset, "NOOP": do_noop,
        "VRFY": do_vrfy, "QUIT": do_quit,
    }


def read_options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--folder", required=True, help="where mail is kept")
    parser.add_argument("--single-file", action="store_true",
                        help="mails.mbox instead of .eml files")
    parser.add_argument("--cert", help="PEM certificate; offers STARTTLS")
    parser.add_argument("--key", help="PEM key of the certificate")
    parser.add_argument("--tls", action="store_true", help="TLS from the first byte")
    parser.add_argument("--require-auth", metavar="USER:PASSWORD")
    parser.add_argument("--auth-needs-tls", action="store_true")
    serving.add_options(parser)
    options = parser.parse_args()
    if (options.tls or options.key) and not (options.cert and options.key):
        parser.error("--cert and --key are needed together")
    return options, serving.rules(parser, options, Rule)


async def serve(options, rules):
    context = None
    if options.cert:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.cert, options.key)
    store = Store(options.folder, options.single_file)
    server = Server(options, store, rules, context)
    await serving.run(
        lambda: Session(server), options, options.host, options.port,
        context if options.tls else None, store.flush, 0.1 if options.single_file else 1)
    for session in list(server.sessions):
        if not session.transport.is_closing():
            session.transport.abort()
    store.flush()


def main():
    options, rules = read_options()
    try:
        asyncio.run(serve(options, rules))
    except OSError as error:
        sys.exit(f"smtp_sink: {error}")


if __name__ == "__main__":
    main()
