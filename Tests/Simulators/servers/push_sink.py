#!/usr/bin/env python3
"""APNs, FCM with its token endpoint, and a webhook receiver, for tests and demonstrations.

One server speaks HTTP/2 over TLS and plays them all. It checks what the real ones check (tokens
of ours, headers, sizes), fails on request, and writes each request as a line of requests.ndjson
in the folder, before it is answered. Prints `LISTENING host:port` when ready, ends on SIGTERM.

    push_sink.py --make-keys FOLDER                 writes apns.p8 and account.json
    push_sink.py --keys FOLDER --cert … --key …     serves whoever signs with them

    POST /3/device/TOKEN                       APNs
    POST /token                                OAuth 2.0 for service accounts
    POST /v1/projects/PROJECT/messages:send    FCM
    POST /hook/…                               webhooks, signed with one of --hook-secret

Rules (--fail, or one a line in the --script file; # begins a comment line):

    STAGE[:PATTERN][#TIMES]=ANSWER

    STAGE    apns, fcm, oauth or hook
    PATTERN  shell pattern: for apns and fcm the device token, for oauth the account's e-mail
             address, for hook the path
    TIMES    the rule holds for so many matches only
    ANSWER   "410 Unregistered" answers so, in the provider's own form; words NAME=VALUE behind
             it are headers, but for timestamp=, violation= (a field), quota= (what is used up),
             which go into the body; "body=" and all that follows is the body
             "drop" closes the connection, "lost" does so after taking the request
             "reset [CODE]" ends the stream, "goaway [REASON]" the connection before this stream
             "slow SECONDS" waits, then goes on; "late SECONDS" takes the request, then waits
             "stall" never answers

for example --fail 'apns:dead*=410 Unregistered timestamp=1700000000000' --fail 'fcm#2=stall'
"""
import argparse
import asyncio
import json
import os
import random
import re
import ssl
import sys

import http2_frames
import serving
from push_providers import APNs, FCM, Hook, OAuth, Refusal, make_keys

STAGES = ("apns", "fcm", "oauth", "hook")
ACTIONS = ("drop", "lost", "reset", "goaway", "slow", "late", "stall")
AT_RANDOM = "500 InternalServerError,503 ServiceUnavailable,reset REFUSED_STREAM,drop,slow 2"


class Rule(serving.Rule):
    stages = STAGES

    def read(self, answer, rule):
        return Answer(answer, rule)


class Answer:
    """What is done instead of taking a request."""

    def __init__(self, text, rule):
        self.text, _, body = text.partition("body=")
        self.body = body.encode() if "body=" in text else None
        word, *rest = self.text.split()
        self.action = word if word in ACTIONS else "say"
        self.argument = rest[0] if rest else None
        if self.action in ("slow", "late"):
            self.delay = float(self.argument)
        elif self.action == "reset":
            self.argument = self.argument or "INTERNAL_ERROR"
            if self.argument not in http2_frames.ERRORS:
                raise ValueError(f"rule {rule!r}: expected a code of HTTP/2")
        elif self.action == "say":
            if not re.fullmatch(r"[2-5]\d\d", word):
                raise ValueError(f"rule {rule!r}: expected a status and a reason, or one of "
                                 f"{', '.join(ACTIONS)}")
            self.status = int(word)
            pairs = [each.partition("=") for each in rest if "=" in each]
            extra = {name: value.replace("_", " ") if name == "retry-after" else value
                     for name, _, value in pairs}
            self.reason = " ".join(each for each in rest if "=" not in each)
            self.inner = {name: extra.pop(name) for name in ("timestamp", "violation", "quota")
                          if name in extra}
            self.headers = tuple(extra.items())


class Log:
    """requests.ndjson: one line for each request, on disk before the answer."""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.file = open(os.path.join(folder, "requests.ndjson"), "ab", buffering=0)
        self.lines = []
        self.encode = json.JSONEncoder(separators=(",", ":")).encode

    def write(self, **entry):
        self.lines.append(self.encode(entry))

    def flush(self):
        if self.lines:
            self.lines.append("")
            self.file.write("\n".join(self.lines).encode())
            self.lines.clear()


class Site:
    """Which provider a request is for, what the rules say, and what is written down."""

    def __init__(self, options, rules):
        self.log = Log(options.folder)
        oauth = OAuth(options)
        self.providers = {"apns": APNs(options), "oauth": oauth,
                          "fcm": FCM(options, oauth), "hook": Hook(options)}
        self.rules = {stage: [r for r in rules if r.stage == stage] for stage in STAGES}
        self.share = options.random
        self.dice = random.Random(options.seed)
        self.at_random = [Answer(text, text) for text in options.random_answers.split(",")]
        self.flush = self.log.flush

    @staticmethod
    def stage(path):
        if path.startswith(b"/3/"):
            return "apns"
        if path.startswith(b"/v1/"):
            return "fcm"
        return "oauth" if path == b"/token" else "hook"

    def rule(self, stage, provider, stream, head):
        if self.rules[stage]:
            subject = provider.subject(stream, head)
            for rule in self.rules[stage]:
                if rule.holds(subject):
                    return rule.answer
        if self.share and stage != "oauth" and self.dice.random() < self.share:
            return self.dice.choice(self.at_random)
        return None

    def answer(self, connection, stream):
        head = dict(stream.headers)
        stage = self.stage(head[b":path"])
        provider = self.providers[stage]
        answer = self.rule(stage, provider, stream, head)
        fields = {"stage": stage, "connection": connection.number,
                  **provider.fields(stream, head)}
        if answer is None:
            self.finish(connection, stream, provider, head, fields)
            return
        action = answer.action
        if action == "slow":
            self.later(answer.delay, stream, self.finish,
                       connection, stream, provider, head, fields)
        elif action == "say":
            self.log.write(**fields, status=answer.status, verdict=answer.text.strip())
            headers, body = provider.refusal(answer.status, answer.reason, answer.inner, fields)
            connection.respond(stream, answer.status, tuple(headers) + answer.headers,
                               body if answer.body is None else answer.body)
        elif action in ("lost", "late"):
            status, headers, body = self.judge(connection, stream, provider, head, fields)
            if action == "lost":
                self.flush()
                connection.drop()
            else:
                self.later(answer.delay, stream,
                           connection.respond, stream, status, headers, body)
        else:
            self.log.write(**fields, status=0, verdict=answer.text)
            self.break_off(connection, stream, answer)

    def break_off(self, connection, stream, answer):
        if answer.action == "drop":
            self.flush()
            connection.drop()
        elif answer.action == "reset":
            connection.reset(stream, answer.argument)
        elif answer.action == "goaway":
            reason = {"reason": answer.argument} if answer.argument else {}
            connection.go_away(stream.number - 2 if stream.number > 1 else 0,
                               json.dumps(reason).encode())

    @staticmethod
    def later(delay, stream, call, *arguments):
        stream.timer = asyncio.get_running_loop().call_later(delay, call, *arguments)

    def judge(self, connection, stream, provider, head, fields):
        try:
            status, headers, body = provider.take(connection, stream, head, fields)
            verdict = "accepted"
        except Refusal as refusal:
            status, verdict = refusal.status, str(refusal)
            headers, body = provider.refusal(status, refusal.reason, {}, fields)
        self.log.write(**fields, status=status, verdict=verdict)
        return status, headers, body

    def finish(self, connection, stream, provider, head, fields):
        status, headers, body = self.judge(connection, stream, provider, head, fields)
        connection.respond(stream, status, headers, body)


def read_options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--make-keys", metavar="FOLDER")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--folder", help="where requests.ndjson is kept")
    parser.add_argument("--keys", metavar="FOLDER", help="with apns.p8 and account.json")
    parser.add_argument("--cert", help="PEM certificate")
    parser.add_argument("--key", help="PEM key of the certificate")
    parser.add_argument("--key-id", default="ABCDE12345", help="of apns.p8")
    parser.add_argument("--team", default="TEAM123456")
    parser.add_argument("--topic", action="append", default=[], help="allowed; without it, any")
    parser.add_argument("--token-pace", type=float, default=0, metavar="SECONDS",
                        help="APNs tokens on one connection may not change sooner than that")
    parser.add_argument("--token-life", type=int, default=3600, metavar="SECONDS",
                        help="of access tokens for FCM")
    parser.add_argument("--hook-secret", action="append", default=[], metavar="whsec_…")
    parser.add_argument("--streams", type=int, default=1000, help="at once on one connection")
    parser.add_argument("--one-first", action="store_true",
                        help="one stream at a time until APNs has accepted a request")
    parser.add_argument("--random", type=float, default=0, metavar="SHARE",
                        help="of the requests fail by chance, but for those to /token")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--random-answers", default=AT_RANDOM, metavar="ANSWER,…")
    serving.add_options(parser)
    options = parser.parse_args()
    if not options.make_keys and not (
            options.folder and options.keys and options.cert and options.key):
        parser.error("--folder, --keys, --cert and --key are needed")
    return options, serving.rules(parser, options, Rule)


async def serve(options, rules):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.cert, options.key)
    context.set_alpn_protocols(["h2"])
    site = Site(options, rules)
    connections = set()
    await serving.run(
        lambda: http2_frames.Connection(
            site, connections, options.streams, not options.one_first),
        options, options.host, options.port, context)
    for connection in list(connections):
        connection.drop()
    site.flush()


def main():
    options, rules = read_options()
    if options.make_keys:
        make_keys(options.make_keys)
        return
    try:
        asyncio.run(serve(options, rules))
    except OSError as error:
        sys.exit(f"push_sink: {error}")


if __name__ == "__main__":
    main()
