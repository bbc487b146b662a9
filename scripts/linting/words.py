"""The vocabulary: names and phrases that the project does not use, with what to write instead.

Text is what a user or a reader of the code meets: strings, comments, documentation. Names are
identifiers. The changelog keeps the names of its time.
"""
import re

# Names of types that have the field's own term instead.
NAMES = {
    "Heart": "Heartbeat", "Dispatcher": "Claimer", "Standing": "ReceivedCommands",
    "Told": "PublishedStatus", "Pace": "ThroughputMeter", "ActivityBook": "ActivityCounters",
    "ActivityPage": "ActivityMinute", "Vitals": "WorkerStats", "Pulse": "Liveness",
    "LeadSeat": "LeadershipRole", "Lead": "Role", "FeedingPlace": "FeederThread",
    "Complaint": "LogThrottle", "OwnThread": "DedicatedThreadExecutor",
    "Teller": "NoticePlanner", "Deciding": "NoticeDecisionJobs", "Ruling": "NoticePlan",
    "AnswerBook": "DeliveryResultWriter", "DueReads": "DeliveryLoader",
    "Obstacle": "DeliveryBlocker", "LossWatch": "LossDetector",
    "ConnectionDesk": "ConnectionPool", "HostLane": "HostQueue", "ContextBook": "ContextFile",
    "ContextsInForce": "ResolvedContexts", "JobLook": "JobScan", "WindowLook": "WindowProbe",
    "RedisLook": "RedisInfo", "EndWatch": "FinishedJobTail", "JobStory": "JobHistory",
    "JobFamily": "JobRelations", "JobSituation": "JobDiagnosis",
}
NAME = re.compile(r"\b(" + "|".join(NAMES) + r")\b")
# The amount in words is a term of cheques.
WORDS_ENUM = re.compile(r"\b(?:enum|struct|class) (?!AmountInWords)([A-Z]\w*Words)\b")

# Phrases of the text, and what to write.
PHRASES = (
    (r"mend(?:s|ed|ing)?", "fix"),
    (r"amiss", "wrong, or a problem"),
    (r"rehears(?:e|es|ed|al|als|ing)", "dry run"),
    (r"the story", "the history"),
    (r"so many|as many as", "N, the number of, at most N"),
    (r"le(?:t|ts|tting) go", "release, step down"),
    (r"(?:hand|give|gave|giving|given|hands|handed|gives) back", "requeue, return"),
    (r"st(?:and|ands|ood) still", "is paused"),
    (r"(?:leads?|led|leading) in", "is the feeder, is the scheduler"),
    (r"who leads", "the leader"),
    (r"duties", "maintenance"),
    (r"drawn by lot", "random"),
    (r"patience", "timeout, lease"),
    (r"anew", "again"),
    (r"of late", "recently"),
    (r"lest", "so that ... not"),
    (r"whoever", "any process that"),
    (r"told|tells?|telling", "report, notify, show"),
    (r"heard|hears?", "receive"),
    (r"endings", "results"),
    (r"poke[sd]?", "wake up"),
)
PHRASE = re.compile(
    r"\b(?:" + "|".join(f"({pattern})" for pattern, _ in PHRASES) + r")\b", re.IGNORECASE)
TEXTS = ("Sources/", "migrations/", "deploy/", "docs/", "Examples/", "Plugins/", "README.md",
         "CONTRIBUTING.md", "SECURITY.md")
# The words of notices are for the people of the apps.
FOR_PEOPLE = re.compile(r"/Notices/[a-z]{2}/|\.json$")


def check(tree):
    for path, text in tree.texts.items():
        if path.endswith(".swift"):
            for match in NAME.finditer(tree.swift[path].code):
                add(tree, path, text, match, f"{match[0]}: write {NAMES[match[1]]}")
            for match in WORDS_ENUM.finditer(text):
                add(tree, path, text, match, f"{match[1]}: write …Formatting or …Options")
        if not path.startswith(TEXTS) or FOR_PEOPLE.search(path):
            continue
        for match in PHRASE.finditer(text):
            place = next(i for i, group in enumerate(match.groups()) if group)
            add(tree, path, text, match, f"'{match[0]}': write {PHRASES[place][1]}")


def add(tree, path, text, match, advice):
    tree.add(path, text.count("\n", 0, match.start()) + 1, "words", advice)
