import ErrandPostgres
import ErrandTestServices
import Testing

/// Arguments that name what is there, with one extreme field at a time, through a real worker:
/// a handler that finds nothing under an extreme id gets no further.
@Suite("Attacks: extreme fields", .serialized, .database) struct ExtremeFieldsTests {
    /// The values of existing things, by the names of arguments.
    private static let existing: [String: String] = [
        "vote_id": "1", "run_id": "1", "chunk": "1", "notice_id": "1", "delivery_id": "1",
        "coupon_id": "1", "mission_id": "1", "assignment_id": "1", "group_id": "1", "number": "1",
        "person_id": "1", "invitation_id": "1", "chore_id": "1", "plan": "1", "occurrence_id": "1",
        "occurrence_ids": "[1]", "instead_of": "2", "bill_id": "1", "revision": "1",
        "payer_id": "2", "payment_id": "1", "note_id": "1", "to": "[2]", "group_ids": "[1]",
        "payouts": "[1]", "step": "1", "longitude": "-73", "latitude": "45", "accuracy_m": "10",
        "at": #""2026-11-24T00:00:00Z""#, "session": #""x""#, "month_end": #""2026-11-30""#,
        "quarter": #""2026-Q3""#, "time_zone": #""UTC""#,
    ]

    private static let numbers = ["9223372036854775807", "-9223372036854775808", "-1", "1e30"]
    private static let times = [
        #""infinity""#, #""-infinity""#, #""294276-12-31T23:59:59Z""#, #""0000-00-00""#, #""""#,
    ]

    private static let longText = String(repeating: "x", count: 9_000)

    /// What a field is set to.
    private static func extremes(of field: String) -> [String] {
        switch field {
        case "plan", "revision", "chunk", "step":
            ["2147483647", "-2147483648", "0", "9223372036854775807"]
        case "occurrence_ids", "to", "group_ids", "payouts":
            ["[]", "[9223372036854775807, -9223372036854775808, 1, 1]"]
        case "longitude", "latitude", "accuracy_m": ["1e308", "-1e308", "1e-308", "-0.0"]
        case "at": times
        case "month_end": times + [#""9999-12-31""#, #""5874897-12-31""#]
        case "session", "quarter", "time_zone":
            [#""""#, #""9999-Q4""#, #""../../etc/passwd""#, "\"\(longText)\""]
        default: numbers
        }
    }

    /// The fields of each kind that has arguments.
    private static let kinds: [String: [String]] = [
        "household.plan": ["chore_id", "plan", "time_zone"],
        "notification.webhook": ["delivery_id", "step"],
        "notification.push": ["delivery_id", "step"],
        "notification.email": ["delivery_id", "step"],
        "notification.decide": ["notice_id", "step"],
        "coupons.redeemed": ["coupon_id", "step"],
        "coupons.position": ["person_id", "longitude", "latitude", "accuracy_m", "at"],
        "payouts.close": ["quarter"],
        "payouts.close_chunk": ["run_id", "chunk"],
        "payouts.end_close": ["run_id", "step"],
        "votes.review": ["vote_id", "step"],
        "votes.publish": ["vote_id", "step"],
        "votes.prepare": ["vote_id", "step"],
        "votes.count": ["vote_id", "step"],
        "votes.close": ["vote_id", "step"],
        "missions.assign": ["mission_id", "step"],
    ]

    /// The events of the kinds that notify, with the fields that these read.
    private static let notifying: [String: (events: [String], fields: [String])] = [
        "payouts.notify": (["held", "issued", "returned"], ["payouts"]),
        "missions.notify": (
            [
                "offered", "agreed", "waiting", "reminder", "unfinished", "withdrawn", "returned",
                "paid", "rejected", "missed",
            ], ["assignment_id", "step"]
        ),
        "household.notify": (
            [
                "joined", "left", "away", "back", "group_changed", "chore_added", "chore_changed",
                "chore_removed", "chore_done", "chore_skipped", "chore_taken_over",
                "rotation_changed", "turns_forgiven", "going_shopping", "note_added", "bill_added",
                "bill_edited", "bill_removed", "trip_completed", "trip_edited", "trip_removed",
                "note_removed", "paid", "payment_undone", "invited", "invitation_declined",
                "invitation_lapsed", "chore_due", "chore_overdue", "chore_handed_over",
                "chore_reminder", "chore_fault", "debt_reminder", "balances", "session_failed",
            ],
            [
                "group_id", "number", "at", "person_id", "invitation_id", "chore_id", "plan",
                "occurrence_id", "occurrence_ids", "instead_of", "bill_id", "revision", "payer_id",
                "payment_id", "note_id", "to", "session", "month_end", "group_ids",
            ]
        ),
    ]

    /// Arguments of existing things: as they are, and with each field at each extreme.
    private static func variants(_ fields: [String], event: String? = nil) -> [String] {
        func text(_ changes: [String: String]) -> String {
            var all = fields.map { "\"\($0)\": \(changes[$0] ?? existing[$0] ?? "1")" }
            if let event { all.append("\"event\": \"\(event)\"") }
            return "{\(all.joined(separator: ", "))}"
        }
        return [text([:])]
            + fields.flatMap { field in extremes(of: field).map { text([field: $0]) } }
    }

    /// Kinds and arguments of all jobs.
    private static let jobs: [(kind: String, args: String)] = {
        var jobs: [(kind: String, args: String)] = []
        func add(_ kind: String, _ variants: [String]) {
            for args in variants { jobs.append((kind: kind, args: args)) }
        }
        for (kind, fields) in kinds { add(kind, variants(fields)) }
        for (kind, (events, fields)) in notifying {
            for event in events { add(kind, variants(fields, event: event)) }
        }
        // Of a person, and of a zone, where other fields of the same kind come first.
        for event in ["hired", "suspended", "dismissed"] {
            add("missions.notify", variants(["person_id", "at"], event: event))
        }
        add("household.plan", variants(["time_zone"]))
        return jobs
    }()

    @Test(.timeLimit(.minutes(5)))
    func `one extreme field beside ids that exist leaves the worker alive`() async throws {
        try await ExtremeGround.with { ground in
            let session = try TestDatabase.here().session()
            let added = try await session.query(
                """
                INSERT INTO errand.jobs (queue, kind, args_version, max_attempts, args, options)
                SELECT 'attack.fields', k.kind, k.args_version, 2, j.args::jsonb, '{"backoff":
                    {"base": 0, "factor": 1, "ceiling": 0, "jitter": 0}, "timeout_ms": 20000}'
                FROM unnest($1::text[], $2::text[]) AS j (kind, args)
                JOIN errand.kinds k ON k.kind = j.kind
                RETURNING id
                """,
                [
                    .textArray(Self.jobs.map(\.kind)), .textArray(Self.jobs.map(\.args)),
                ])
            #expect(added.count == Self.jobs.count)
            let begun = try await session.query("SELECT clock_timestamp()::text").text(0, 0)
            // A worker that a job ends would exit with a signal.
            try await ground.drain("attack.fields:8")
            let left = try await session.query(
                """
                SELECT kind || ' ' || args::text FROM errand.jobs
                WHERE queue = 'attack.fields' AND (claimed_by IS NOT NULL
                    OR attempt = 0 AND run_at < $1::text::timestamptz)
                """, [.text(begun)]
            ).map { try $0.text(0) }
            #expect(left == [])
            // Not all of them were refused by their handlers, so that these did get somewhere.
            let completed = try await session.query(
                """
                SELECT DISTINCT kind FROM errand.finished_jobs
                WHERE queue = 'attack.fields' AND outcome = 'completed'
                """
            ).map { try $0.text(0) }
            #expect(
                Set(completed).isSuperset(of: [
                    "household.notify", "household.plan", "missions.notify",
                    "notification.decide", "payouts.close_chunk", "votes.review",
                ]))
            await session.close()
        }
    }
}
