"""What APNs, FCM, its token endpoint and a receiver of webhooks check, and how they say no.

A provider has
    subject(stream, head)   what the rules' patterns are held against
    fields(stream, head)    what is written down of the request
    take(…)                 the answer (status, headers, body), or a Refusal
    refusal(…)              headers and body of a refusal, in the provider's own form
"""
import base64
import binascii
import functools
import hmac
import itertools
import json
import os
import re
import time
import urllib.parse

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils

UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
DEVICE = re.compile(rb"/3/device/([^/]+)")
HEX = re.compile(rb"[0-9A-Fa-f]{64,200}")
SEND = re.compile(rb"/v1/projects/([^/]+)/messages:send")
PUSH_TYPES = {b"alert", b"background", b"location", b"voip", b"complication", b"fileprovider",
              b"mdm", b"liveactivity", b"pushtotalk"}
SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
FCM_STATUS = {
    "INVALID_ARGUMENT": "INVALID_ARGUMENT", "UNREGISTERED": "NOT_FOUND",
    "SENDER_ID_MISMATCH": "PERMISSION_DENIED", "THIRD_PARTY_AUTH_ERROR": "UNAUTHENTICATED",
    "QUOTA_EXCEEDED": "RESOURCE_EXHAUSTED", "UNAVAILABLE": "UNAVAILABLE", "INTERNAL": "INTERNAL",
    "UNSPECIFIED_ERROR": "INTERNAL",
}


class Refusal(Exception):
    """What a real server says no to: a status and a reason."""

    def __init__(self, status, reason):
        super().__init__(f"{status} {reason}")
        self.status = status
        self.reason = reason


# ---- Keys and tokens ---------------------------------------------------------------------------

def make_keys(folder):
    os.makedirs(folder, exist_ok=True)

    def pem(key):
        return key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption()).decode()

    account = {
        "type": "service_account", "project_id": "errand-demo", "private_key_id": "0123456789ab",
        "private_key": pem(rsa.generate_private_key(65537, 2048)),
        "client_email": "errand@errand-demo.example", "client_id": "1",
        "token_uri": "https://localhost/token",
    }
    for name, content in (("apns.p8", pem(ec.generate_private_key(ec.SECP256R1()))),
                          ("account.json", json.dumps(account, indent=2))):
        # errand refuses keys that all users of the machine may read.
        with open(os.path.join(folder, name), "w", encoding="ascii",
                  opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(content)


def decoded(part):
    return base64.urlsafe_b64decode(part + b"=" * (-len(part) % 4))


def read_token(token, algorithm, verify):
    """Header and claims of a JWT (RFC 7515); ValueError when it is not one signed like that."""
    try:
        head, claims, signature = token.split(b".")
        verify(decoded(signature), head + b"." + claims)
        head, claims = json.loads(decoded(head)), json.loads(decoded(claims))
    except (binascii.Error, InvalidSignature, TypeError) as error:
        raise ValueError(str(error)) from error
    if head.get("alg") != algorithm:
        raise ValueError("algorithm")
    return head, claims


def verify_es256(key, signature, text):
    if len(signature) != 64:
        raise ValueError("a raw signature has 64 bytes")
    whole = utils.encode_dss_signature(
        int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big"))
    key.verify(whole, text, ec.ECDSA(hashes.SHA256()))


def verify_rs256(key, signature, text):
    key.verify(signature, text, padding.PKCS1v15(), hashes.SHA256())


# ---- The providers -----------------------------------------------------------------------------

class APNs:
    """Says what the real one says, by "Handling notification responses from APNs"."""

    def __init__(self, options):
        self.options = options
        with open(os.path.join(options.keys, "apns.p8"), "rb") as file:
            key = serialization.load_pem_private_key(file.read(), None).public_key()
        self.verify = functools.partial(verify_es256, key)
        self.tokens = {}

    def subject(self, stream, head):
        match = DEVICE.fullmatch(head[b":path"])
        return match[1].decode("ascii", "replace") if match else ""

    def check_token(self, connection, head):
        scheme, _, token = head.get(b"authorization", b"").partition(b" ")
        if not token or scheme.lower() != b"bearer":
            raise Refusal(403, "MissingProviderToken")
        issued = self.tokens.get(token)
        if issued is None:
            try:
                header, claims = read_token(token, "ES256", self.verify)
            except ValueError:
                raise Refusal(403, "InvalidProviderToken") from None
            if header.get("kid") != self.options.key_id \
                    or claims.get("iss") != self.options.team \
                    or not isinstance(claims.get("iat"), int):
                raise Refusal(403, "InvalidProviderToken")
            issued = self.tokens[token] = claims["iat"]
        now = time.time()
        if issued < now - 3600:
            raise Refusal(403, "ExpiredProviderToken")
        known = connection.memory.get("token")
        if known != token:
            since = connection.memory.get("since", 0)
            if self.options.token_pace and now - since < self.options.token_pace:
                raise Refusal(429, "TooManyProviderTokenUpdates")
            connection.memory.update(token=token, since=now)
        return issued

    def check(self, connection, stream, head):
        if head[b":method"] != b"POST":
            raise Refusal(405, "MethodNotAllowed")
        device = DEVICE.fullmatch(head[b":path"])
        if not device:
            raise Refusal(404, "BadPath")
        issued = self.check_token(connection, head)
        if len(head) != len(stream.headers):
            raise Refusal(400, "DuplicateHeaders")
        if not HEX.fullmatch(device[1]):
            raise Refusal(400, "BadDeviceToken")
        if b"apns-topic" not in head:
            raise Refusal(400, "MissingTopic")
        if self.options.topic and head[b"apns-topic"].decode() not in self.options.topic:
            raise Refusal(400, "TopicDisallowed")
        kind, priority = head.get(b"apns-push-type"), head.get(b"apns-priority", b"10")
        if kind not in PUSH_TYPES:
            raise Refusal(400, "InvalidPushType")
        if priority not in (b"1", b"5", b"10") or (kind == b"background" and priority != b"5"):
            raise Refusal(400, "BadPriority")
        if not head.get(b"apns-expiration", b"0").isdigit():
            raise Refusal(400, "BadExpirationDate")
        if len(head.get(b"apns-collapse-id", b"")) > 64:
            raise Refusal(400, "BadCollapseId")
        if b"apns-id" in head and not UUID.fullmatch(head[b"apns-id"]):
            raise Refusal(400, "BadMessageId")
        self.check_payload(kind, stream.body)
        return issued

    def check_payload(self, kind, body):
        if not body:
            raise Refusal(400, "PayloadEmpty")
        if len(body) > 4096:
            raise Refusal(413, "PayloadTooLarge")
        try:
            apart = json.loads(body)["aps"]
        except (ValueError, KeyError, TypeError):
            raise Refusal(400, "PayloadEmpty") from None
        if (kind == b"alert") != ("alert" in apart):
            raise Refusal(400, "InvalidPushType")

    def take(self, connection, stream, head, fields):
        fields["iat"] = self.check(connection, stream, head)
        connection.trust()
        return 200, (("apns-id", fields["id"]),), b""

    def fields(self, stream, head):
        def text(name):
            return head.get(name, b"").decode("utf-8", "replace")

        return {
            "id": text(b"apns-id"), "token": self.subject(stream, head),
            "topic": text(b"apns-topic"), "type": text(b"apns-push-type"),
            "priority": text(b"apns-priority"), "expiration": text(b"apns-expiration"),
            "collapse": text(b"apns-collapse-id"), "body": stream.body.decode("utf-8", "replace"),
        }

    def refusal(self, status, reason, inner, fields):
        body = {"reason": reason}
        if "timestamp" in inner:
            body["timestamp"] = int(inner["timestamp"])
        return (("apns-id", fields["id"]),), json.dumps(body).encode()


class OAuth:
    """Hands out access tokens for assertions signed with the account's key (RFC 7523)."""

    def __init__(self, options):
        self.options = options
        with open(os.path.join(options.keys, "account.json"), encoding="ascii") as file:
            self.account = json.load(file)
        key = serialization.load_pem_private_key(self.account["private_key"].encode(), None)
        self.verify = functools.partial(verify_rs256, key.public_key())
        self.valid = {}

    def subject(self, stream, head):
        return self.account["client_email"]

    def fields(self, stream, head):
        return {}

    def take(self, connection, stream, head, fields):
        form = dict(urllib.parse.parse_qsl(stream.body.decode("ascii", "replace")))
        if form.get("grant_type") != GRANT:
            raise Refusal(400, "unsupported_grant_type")
        try:
            header, claims = read_token(
                form.get("assertion", "").encode(), "RS256", self.verify)
        except ValueError:
            raise Refusal(400, "invalid_grant") from None
        now = time.time()
        wanted = {"iss": self.account["client_email"], "scope": SCOPE}
        if header.get("kid") != self.account["private_key_id"] \
                or any(claims.get(name) != value for name, value in wanted.items()) \
                or not str(claims.get("aud")).endswith("/token") \
                or not now - 3600 <= claims["iat"] <= now + 600 \
                or not claims["iat"] < claims["exp"] <= claims["iat"] + 3600:
            raise Refusal(400, "invalid_grant")
        token = "ya29." + base64.urlsafe_b64encode(os.urandom(48)).decode()
        self.valid[token.encode()] = now + self.options.token_life
        answer = {"access_token": token, "expires_in": self.options.token_life,
                  "token_type": "Bearer"}
        return 200, (("content-type", "application/json"),), json.dumps(answer).encode()

    def refusal(self, status, reason, inner, fields):
        body = {"error": reason, "error_description": "as the rule says"}
        return (("content-type", "application/json"),), json.dumps(body).encode()


class FCM:
    """Says what the real one says, by "FCM HTTP v1 ErrorCode"."""

    def __init__(self, options, oauth):
        self.oauth = oauth
        self.numbers = itertools.count(1)

    def message(self, stream):
        try:
            return json.loads(stream.body)["message"]
        except (ValueError, KeyError, TypeError):
            return {}

    def subject(self, stream, head):
        return str(self.message(stream).get("token", ""))

    def fields(self, stream, head):
        message = self.message(stream)
        return {"id": message.get("data", {}).get("notification_id", ""),
                "token": str(message.get("token", "")),
                "body": stream.body.decode("utf-8", "replace")}

    def take(self, connection, stream, head, fields):
        if head[b":method"] != b"POST":
            raise Refusal(404, "NOT_FOUND")
        scheme, _, token = head.get(b"authorization", b"").partition(b" ")
        if scheme != b"Bearer" or self.oauth.valid.get(token, 0) < time.time():
            raise Refusal(401, "UNAUTHENTICATED")
        project = SEND.fullmatch(head[b":path"])
        if not project or project[1].decode() != self.oauth.account["project_id"]:
            raise Refusal(403, "PERMISSION_DENIED")
        message = self.message(stream)
        if sum(name in message for name in ("token", "topic", "condition")) != 1:
            raise Refusal(400, "INVALID_ARGUMENT violation=message")
        data = message.get("data", {})
        if any(not isinstance(value, str) or name == "from" or name.startswith(("google", "gcm"))
               for name, value in data.items()):
            raise Refusal(400, "INVALID_ARGUMENT violation=message.data")
        android = message.get("android", {})
        if android.get("priority", "NORMAL") not in ("HIGH", "NORMAL") \
                or not re.fullmatch(r"\d{1,7}s", android.get("ttl", "0s")):
            raise Refusal(400, "INVALID_ARGUMENT violation=message.android")
        size = len(json.dumps([message.get("notification"), data], separators=(",", ":")))
        if size > 4096:
            raise Refusal(400, "INVALID_ARGUMENT violation=message")
        connection.trust()
        name = f"projects/{self.oauth.account['project_id']}/messages/{next(self.numbers)}"
        return 200, (), b'{"name":"' + name.encode() + b'"}'

    def refusal(self, status, reason, inner, fields):
        reason, _, violation = reason.partition(" violation=")
        details = []
        if reason in FCM_STATUS and not violation:
            details.append({"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError",
                            "errorCode": reason})
        violation = violation or inner.get("violation")
        if violation:
            details.append({
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": [{"field": violation, "description": "as the rule says"}]})
        if "quota" in inner:
            details.append({
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [{"subject": f"{inner['quota']}:1", "description": "used up"}]})
        error = {"code": status, "message": f"{reason} as the rule says",
                 "status": FCM_STATUS.get(reason, reason)}
        if details:
            error["details"] = details
        body = json.dumps({"error": error}).encode()
        return (("content-type", "application/json; charset=UTF-8"),), body


class Hook:
    """A receiver of Standard Webhooks that checks the signature first."""

    def __init__(self, options):
        self.secrets = [base64.b64decode(each.removeprefix("whsec_"))
                        for each in options.hook_secret]

    def subject(self, stream, head):
        return head[b":path"].decode("ascii", "replace")

    def fields(self, stream, head):
        return {"id": head.get(b"webhook-id", b"").decode("ascii", "replace"),
                "path": self.subject(stream, head),
                "timestamp": head.get(b"webhook-timestamp", b"").decode("ascii", "replace"),
                "signatures": head.get(b"webhook-signature", b"").decode("ascii", "replace"),
                "body": stream.body.decode("utf-8", "replace")}

    def take(self, connection, stream, head, fields):
        text = f"{fields['id']}.{fields['timestamp']}.".encode() + stream.body
        right = {"v1," + base64.b64encode(hmac.digest(secret, text, "sha256")).decode()
                 for secret in self.secrets}
        if right and right.isdisjoint(fields["signatures"].split()):
            raise Refusal(401, "signature")
        if not fields["timestamp"].isdigit() or abs(int(fields["timestamp"]) - time.time()) > 300:
            raise Refusal(401, "timestamp")
        return 204, (), b""

    def refusal(self, status, reason, inner, fields):
        return (), reason.encode()
