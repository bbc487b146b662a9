import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand notification mails`.
enum DirectMailCommand {
    static let all = [command]

    private static let ofKind = Option<String?>.text(
        "kind", placeholder: "KIND", help: "Only mails of this kind")

    private static let statement = """
        SELECT id, kind, status::text AS status, attempts, reply, created_at, answered_at,
            expires_at, dedupe_key
        FROM notification.direct_mails
        WHERE ($1::text IS NULL OR kind = $1) AND id < $2
        ORDER BY id DESC LIMIT $3
        """

    private static let command = Command(
        "notification", "mails", effect: .read,
        summary: "List mails to people without an account, newest first",
        discussion: """
            Such as invitations. The address is never shown; it is deleted when the mail has \
            ended. Rows are kept for 90 days.
            """,
        examples: [
            .init(
                "errand notification mails --kind account.invitation", "what became of invitations")
        ],
        options: [ofKind, PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        let rows = try await (try invocation.session()).query(
            statement,
            [
                .optional(invocation[ofKind]),
                .int64(invocation[PageOptions.cursor].map(Int64.init) ?? .max),
                .int64(Int64(invocation[PageOptions.limit])),
            ])
        let records = try rows.map(record)
        try invocation.output.list(
            records,
            columns: [
                Column("id"), Column("kind"), Column("status"), Column("attempt"),
                Column("created_at"), Column("reply", isFlexible: true),
            ], empty: "no mails match")
        PageOptions.printMore(
            invocation, count: records.count, last: try rows.map { try $0.int64("id") }.last)
        return .done
    }

    private static func record(_ row: Row) throws -> Record {
        let status = try row.text("status")
        return Record([
            ("id", .id(Int(try row.int64("id")))), ("kind", .text(try row.text("kind"))),
            ("status", .marked(status, NotificationFormatting.style(status))),
            ("attempt", .int(Int(try row.int16("attempts")))),
            ("reply", .optional(try row.optionalText("reply")) { .text($0) }),
            ("created_at", try row.timestamp("created_at").cell),
            ("ended_at", .optional(try row.optionalTimestamp("answered_at")) { $0.cell }),
            ("expires_at", try row.timestamp("expires_at").cell),
            ("dedupe_key", .text(try row.text("dedupe_key"))),
        ])
    }
}
