"""A small package with violations of every rule, for scripts/lint --self-test.

An expectation is a rule, or a rule and a word of what is said: `targets: ErrandUpward`.
"""
from linting.schemas import NEEDS, schema_of

LONG = "    _ = 1\n"
LONG_SQL = "    -- more\n"

# Targets: kind, name, dependencies, path, expectations.
TARGETS = [
    ("systemLibrary", "CErrandSystem", "", "Sources/C/System"),
    ("target", "ErrandThreads", "CErrandSystem", "Sources/Wrappers/Threads"),
    ("target", "ErrandMatching", "", "Sources/Basics/Matching"),
    ("target", "Errand", "ErrandThreads", "Sources/Engine/Errand"),
    ("target", "ErrandStatusPage", "Errand", "Sources/Operator/StatusPage"),
    ("target", "ErrandPeople", "Errand", "Sources/Modules/People"),
    ("target", "ErrandVotes", "ErrandPeople ErrandKeys", "Sources/Modules/Votes"),
    ("target", "ErrandCoupons", "ErrandPeople", "Sources/Modules/Coupons"),
    ("target", "ErrandMissions", "", "Sources/Modules/Missions"),
    ("target", "ErrandHousehold", "", "Sources/Modules/Household"),
    ("target", "ErrandKeys", "Errand", "Sources/Modules/Keys"),
    ("executableTarget", "ErrandProgram", "ErrandVotes", "Sources/errand"),
    ("target", "ErrandTestServices", "CErrandSystem ErrandVotes", "Tests/Services"),
    ("testTarget", "ErrandTests", "Errand ErrandTestServices", "Tests/Engine/Errand"),
    ("testTarget", "ErrandMatchingTests", "ErrandMatching", "Tests/Basics/Matching"),

    ("target", "Planting", "", "Sources/Basics/Planting", "name: Planting: every"),
    ("plugin", "EmbedPlanted", "", "scripts/EmbedPlanted", "name: EmbedPlanted: every"),
    ("target", "ErrandOther", "", "Sources/Basics/Some", "name: ErrandSome"),
    ("testTarget", "ErrandUntested", "", "Tests/Basics/Some", "name: ErrandSomeTests"),
    ("target", "ErrandNowhere", "", "Sources/Nowhere", "targets: ErrandNowhere"),
    ("target", "ErrandUpward", "Errand", "Sources/Basics/Upward", "targets: ErrandUpward"),
    ("target", "ErrandKit", "ErrandKeys", "Sources/Operator/Kit", "targets: ErrandKit"),
    ("target", "ErrandRaw", "CErrandSystem", "Sources/Engine/Raw", "targets: ErrandRaw"),
    ("testTarget", "ErrandRawTests", "CErrandSystem", "Tests/Engine/Raw", "targets: ErrandRawT"),
    ("target", "ErrandPayouts", "ErrandVotes", "Sources/Modules/Payouts",
     "targets: payouts does not need votes"),
    ("target", "ErrandDemo", "ErrandPeople", "Sources/Modules/Demo", "targets: demo does not"),
]

# Swift: path, content, expectations.
SWIFT = [
    ("Sources/Wrappers/Threads/Threads.swift",
     "import CErrandSystem\nimport Dispatch\nimport Glibc\n"),
    ("Sources/Operator/StatusPage/StatusPage.swift", "package import Errand\nimport Glibc\n"),
    ("Sources/Modules/Coupons/Coupons.swift", "import Glibc\n"),
    ("Sources/Modules/Votes/VotesModule.swift",
     'let line = MigrationLine(\n'
     '    module: "votes", needs: ["notification", "people"], files: [])\n'),
    ("Sources/Modules/People/PeopleModule.swift",
     'let line = MigrationLine(module: "people", files: [])\n'),
    ("Sources/Modules/Missions/MissionsModule.swift",
     'let module = "missions"\nlet needs: [String] = ["people", "votes"]\n',
     "schemas: establishments ledger notification votes"),
    ("Sources/Modules/Household/HouseholdModule.swift",
     'let line = MigrationLine(\n'
     '    module: "home", needs: ["notification", "ledger", "people"])\n',
     "schemas: not home"),

    ("Sources/Engine/Errand/Format.swift", "let  planted=1\n", "format"),
    ("Sources/Basics/Matching/Upward.swift", "import Errand\n", "imports"),
    ("Sources/Engine/Errand/Undeclared.swift", "@testable import ErrandMatching\n", "imports"),
    ("Sources/Engine/Errand/Toolchain.swift", "package import struct Foundation.URL\n",
     "imports: Foundation"),
    ("Sources/Modules/Demo/Demo.swift", "import Errand\n",
     "imports: ErrandDemo may not import Errand"),
    ("Sources/Basics/Homeless/Homeless.swift", "let planted = 1\n", "imports: no target"),
    ("Sources/Engine/Errand/Pointer.swift", "let planted: OpaquePointer? = nil\n", "unsafe"),
    ("Sources/Engine/Errand/Word.swift", "let planted = unsafe planting()\n", "unsafe"),
    ("Sources/Basics/Matching/Word.swift", "let planted = unsafe planting()\n", "unsafe"),
    ("Sources/Wrappers/Threads/Visible.swift",
     "package func planted(\n    from: Int,\n    to: UnsafeRawPointer\n) {}\n", "unsafe"),
    ("Sources/Wrappers/Threads/Unchecked.swift",
     "final class Planted: @unchecked Sendable {}\n", "unchecked"),
    ("Sources/Basics/Matching/Fatal.swift", 'func planted() { fatalError("\\(1)") }\n', "forced"),
    ("Sources/Basics/Matching/Cast.swift", "let planted = 1 as! Int\n", "forced", "format"),
    ("Sources/Basics/Matching/Printed.swift", "func planted() { print(1) }\n", "leftover"),
    ("Sources/Basics/Matching/Left.swift", "// FIXME: later\n", "leftover"),
    ("Sources/Basics/Matching/Lines.swift", "let planted = 1\n" * 401, "size: 401 lines"),
    ("Sources/Basics/Matching/Function.swift", "func planted() {\n" + LONG * 69 + "}\n",
     "size: planted has 71 lines"),
    ("Sources/Basics/Matching/Columns.swift",
     'let planted = """\n    ' + "x" * 100 + '\n    """\n', "size: 104 columns"),
    ("Sources/Basics/Matching/MatchingUtils.swift", "let planted = 1\n", "name"),
    ("Sources/Basics/Matching/Coinage.swift",
     'struct LeadSeat {}\nenum JobWords {}\nlet planted = "no worker leads in feeding"\n'
     "// Told by whoever asks.\n",
     "words: LeadSeat: write LeadershipRole", "words: JobWords: write",
     "words: 'leads in'", "words: 'Told'", "words: 'whoever'"),
    ("Tests/Basics/Matching/MatchingTests.swift",
     "struct Planted {\n    @Test(arguments: [{ 1 }, { 2 }]) func run() {}\n\n"
     "    func neverRunAtAll() {}\n}\n", "tests: neverRunAtAll"),
    ("Sources/Modules/Votes/Upward.swift", 'let sql = "SELECT id FROM coupons.coupons"\n',
     "schemas: Votes may not name the schema coupons"),
    ("Sources/Modules/Votes/Joined.swift",
     'let sql =\n    "INSERT INTO votes.votes (id) SELECT id FROM "\n    + "ledger.accounts"\n',
     "schemas: Votes may not name the schema ledger"),
    ("Sources/Modules/Keys/Upward.swift",
     'let sql = """\n    SELECT \\(1)\n    FROM people.people\n    """\n',
     "schemas: Keys may not name the schema people"),
    ("Sources/Engine/Errand/Upward.swift", 'let sql = #"SELECT people.is_known(1)"#\n',
     "schemas: Engine may not name the schema people"),
    ("Sources/Operator/StatusPage/Upward.swift",
     'let sql = "SELECT 1 \\(true ? "JOIN votes.votes" : "")"\n',
     "schemas: Operator may not name the schema votes"),
    ("Sources/Basics/Matching/Schema.swift", 'let sql = "SELECT errand.expect(true)"\n',
     "schemas: Basics may not name the schema errand"),

    # What looks like a violation and is none.
    ("Sources/Engine/Errand/Innocent.swift",
     "// unsafe, try! and print(1) in a comment\n"
     'let planted = "try! unsafe \\("print(1)") as! " + #"fatalError("unsafe")"#\n'
     'let text = """\n    import ErrandVotes; OpaquePointer "quoted" try!\n    """\n'
     "/* unsafe /* print(1) */ try! */\n"
     "protocol Planting {\n    func planted(_ print: Int) -> Int\n    init()\n}\n"),
    ("Sources/Basics/Matching/Hearing.swift",
     "// A storyteller, a heartbeat and a recommendation\nstruct HeartRate {}\n"
     "enum AmountInWords {}\n"),
    ("Sources/Modules/Votes/Innocent.swift",
     'import ErrandPeople\n\nlet kind = "coupons.expire"\n'
     'let sql = "SELECT errand.enqueue(\'coupons.expire\'), p.id FROM people.people p"\n'),
    ("Tests/Packages/other/Package.swift", "import PackageDescription\n"),
    ("Tests/Packages/other/Sources/other/main.swift", "import Glibc\n"),
    ("Sources/Basics/Matching/Innocent.swift", "func planted() {\n" + LONG * 68 + "}\n"),
]


def function(name, body, lines=0):
    return (f"CREATE OR REPLACE FUNCTION {name} RETURNS bigint LANGUAGE sql AS $$\n"
            f"{LONG_SQL * lines}    {body}\n$$;\n")


TRIGGER = ("TRIGGER planted AFTER INSERT ON votes.votes\n"
           "    FOR EACH ROW EXECUTE FUNCTION votes.one();\n")

# SQL and other files: path below the package, content, expectations.
OTHERS = [
    ("migrations/people/tables/002_upward.sql",
     "CREATE INDEX planted ON coupons.coupons (id);\n", "schemas: people may not"),
    ("migrations/people/routines/upward.sql",
     function("people.planted()", "SELECT count(*) FROM coupons.coupons"), "schemas: coupons"),
    ("migrations/people/routines/dynamic.sql",
     "DO $$ BEGIN EXECUTE 'SELECT votes.planted()'; END $$;\n", "schemas: votes"),
    ("migrations/people/routines/literal.sql",
     function("people.literal()", "SELECT 'votes.votes'::regclass::bigint"), "schemas: votes"),
    ("migrations/people/routines/rights.sql",
     "GRANT USAGE ON SCHEMA people, coupons TO planted;\n", "schemas: coupons"),
    # Needed by what it needs, and not by itself.
    ("migrations/coupons/routines/transitive.sql",
     function("coupons.planted()", "SELECT count(*) FROM ledger.accounts"), "schemas: ledger"),
    ("migrations/coupons/tables/002_elsewhere.sql", "CREATE TABLE people.planted (id bigint);\n",
     "schemas: coupons makes nothing"),

    ("migrations/099_planted.sql", "SELECT 1;\n", "migrations: goes to"),
    ("migrations/planted/tables/001_planted.sql", "SELECT 1;\n", "migrations: goes to"),
    ("migrations/payouts/tables/003_gap.sql", "SELECT 1;\n", "migrations: number 002"),
    ("migrations/votes/tables/002_view.sql", "CREATE VIEW votes.seen AS SELECT 1 AS one;\n",
     "migrations: view"),
    ("migrations/votes/tables/003_calls.sql",
     "CREATE TABLE votes.more (id bigint DEFAULT votes.one());\n", "migrations: votes.one is one"),
    ("migrations/votes/tables/004_innocent.sql",
     "-- coupons.coupons, votes.one()\nINSERT INTO votes.two (kind) VALUES ('coupons.expire'),\n"
     "    (E'it\\'s coupons.x ''quoted'''), ($a$ 'coupons' $a$);\n"
     "/* coupons.x /* nested */ */ CREATE INDEX two ON votes.two (kind);\n"),
    ("migrations/votes/routines/one.sql",
     function("votes.one()", "SELECT 1; -- ledger.accounts")
     + function("votes.one(number int)", "SELECT length('ledger.accounts'); SELECT p.id", 66)
     + function("votes.two()", "SELECT 2") + "COMMENT ON FUNCTION votes.one() IS 'ledger.x';\n"
     + "DROP TRIGGER IF EXISTS planted ON votes.votes;\nCREATE CONSTRAINT " + TRIGGER
     + "ALTER TABLE votes.votes ENABLE ALWAYS TRIGGER planted;\n"
     "SELECT errand.grant_rights('votes');\nGRANT EXECUTE ON FUNCTION votes.one() TO planted;\n"),
    ("migrations/votes/routines/table.sql", "CREATE TABLE votes.more (id bigint);\n",
     "migrations: CREATE TABLE"),
    ("migrations/votes/routines/plain.sql",
     function("votes.plain()", "SELECT 1").replace(" OR REPLACE", ""),
     "migrations: CREATE FUNCTION"),
    ("migrations/votes/routines/trigger.sql",
     "CREATE CONSTRAINT " + TRIGGER.replace("planted", "other"), "migrations: DROP TRIGGER"),
    ("migrations/votes/routines/twice.sql",
     function("votes.one(IN counted integer DEFAULT 1)", "SELECT 1")
     + "CREATE OR REPLACE " + TRIGGER,
     "migrations: votes.one(integer) is", "migrations: trigger planted"),
    ("migrations/votes/routines/long.sql", function("votes.long()", "SELECT 1", 68),
     "size: votes.long has 71 lines"),

    ("migrations/ledger/tables/001_ledger.sql", "CREATE SCHEMA IF NOT EXISTS ledger;\n",
     "migrations: changed"),
    ("migrations/released.txt",
     "# sums\n0  people/tables/000_gone.sql\n0  people/routines/rights.sql\n",
     "migrations: gone", "migrations: only table files", "migrations: missions/tables/001"),

    ("deploy/planted.md", "The leader lets go, as many as 3 times.\n",
     "words: 'lets go'", "words: 'as many as'"),
    ("docs/planted.md", "Mended holes.\n", "words: 'Mended'"),
    ("CHANGELOG.md", "`errand leader`: who leads in duties.\n"),
    ("planted/file", ""),
    ("Tests/Planted/file", ""),
    ("Sources/Planted/file", ""),
    *((f"scripts/full/{number}", "") for number in range(15)),
    *((f"scripts/fuller/{number}", "") for number in range(16)),
    *((f"Sources/Modules/Votes/Notices/en/{number}", "") for number in range(16)),
    ("scripts/home", "cd /home/somebody\n", "paths"),
    ("scripts/registry", "pip install --index-url https://pypi.org/simple x\n", "paths"),
    ("scripts/shell", "#!/usr/bin/env bash\nif\n", "shell"),
]

# Found in a file or folder that is not planted by itself.
ELSEWHERE = [
    ("scripts/fuller", "folders: 16 files"), ("planted", "folders: the package"),
    ("Tests/Planted", "folders: Tests"), ("Sources/Planted", "folders: Sources"),
    ("scripts/linting/targets.py", "imports: ErrandDemo does not import Glibc"),
]

# The first step of each module, as it was released; that of missions was not recorded.
FIRST_STEPS = {
    f"{module}/tables/001_{module}.sql": f"CREATE SCHEMA {schema_of(module)};\n"
    for module in NEEDS
}
UNRECORDED = "missions/tables/001_missions.sql"
