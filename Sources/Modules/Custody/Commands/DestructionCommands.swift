import Errand
import ErrandCommand
import ErrandPeople
import ErrandPostgres
import ErrandTerminal

/// `errand destruction …`: planning and approving; `DestructionRunCommands` has the rest.
enum DestructionCommands {
    static let all = [plan, approve, cancel, rules] + DestructionRunCommands.all

    // MARK: plan

    private static let notifiedOn = Option<String?>.value(
        "notified-on", CustodyFormatting.day,
        help: "The day on which all people had been notified of the end of the service"
    ).required()
    private static let withLedger = Option.flag(
        "with-ledger", help: "Keep the ledger, without people, as the law demands")
    private static let folders = Option<[String]>.list(
        "folder", ValueFormat("DIR", expected: "the path of a folder") { $0.isEmpty ? nil : $0 },
        separator: nil, help: "Remove the content of this folder too, such as that of payout files")
    private static let accept = Option<[String]>.list(
        "accept",
        ValueFormat("MATTER", expected: "the name of an open matter") {
            $0.isEmpty ? nil : $0
        }, help: "Start despite these open matters")
    private static let production = Option<String?>.text(
        "production", placeholder: "CONTEXT",
        help: "The name of the context, if it is a production context")

    private static let plan = Command(
        "destruction", "plan", effect: .write,
        summary: "Plan the destruction of all customer data of this database",
        discussion: """
            Destroys nothing. Lists what must be settled before the start, such as open payout \
            runs. Another operator, with another login of PostgreSQL, must approve the plan: \
            'errand destruction approve'. A plan never changes: to change it, cancel it and make \
            another. Notify all people first, at least 30 days before the start.
            """,
        examples: [
            .init(
                "errand destruction plan --notified-on 2026-10-20 --reason 'end of service'",
                "asks first"),
            .init(
                "errand destruction plan --notified-on 2026-10-20 --with-ledger --folder "
                    + "/var/lib/errand/payouts", "keeps the ledger, removes payout files"),
        ],
        options: [notifiedOn, withLedger, folders, accept, production, CustodyFormatting.reason]
    ) { invocation in
        let session = try invocation.session()
        let context = try productionContext(invocation[production], invocation)
        try OutputFolders.check(invocation[folders])
        let matters = try await invocation.openMatters(session)
        let unknown = invocation[accept].filter { name in !matters.contains { $0.name == name } }
        if let name = unknown.first {
            throw CommandFailure(
                exit: .usage, message: "--accept \(name): no such matter is open",
                hint: matters.isEmpty
                    ? "nothing is open" : "open: \(matters.map(\.name).joined(separator: ", "))")
        }
        try invocation.confirm("plan the destruction of all customer data of this database?")
        let id = try await CustodyFormatting.refusing {
            let rows = try await session.pipeline([
                Statement(
                    "SELECT custody.plan($1, $2, $3::text::date, $4, $5, $6, $7)",
                    [
                        .text(invocation.operatorName),
                        .optional(invocation[CustodyFormatting.reason]),
                        .text(invocation[notifiedOn]),
                        .bool(invocation[withLedger]), .optional(context),
                        .textArray(invocation[folders]), .textArray(invocation[accept]),
                    ]),
                audit("plan", invocation),
            ])
            return try rows[0].int64(0, 0)
        }
        try await CustodyFormatting.show(id, invocation, session)
        for matter in matters {
            let isAccepted = invocation[accept].contains(matter.name)
            invocation.output.note(
                "\(isAccepted ? "accepted" : "open"): \(matter.name): \(matter.message) "
                    + "(\(matter.remedy))")
        }
        invocation.output.note("another operator approves it: errand destruction approve")
        return .done
    }

    /// The audit line of a command.
    static func audit(_ verb: String, _ invocation: Invocation) -> Statement {
        AuditLine(
            operatorName: invocation.operatorName, action: "destruction \(verb)",
            subject: "customer data", reason: invocation[CustodyFormatting.reason]
        ).statement
    }

    /// The name of the production context in use, which must be given; nil in other contexts.
    static func productionContext(
        _ given: String?, _ invocation: Invocation
    ) throws(CommandFailure) -> String? {
        let context = invocation.contexts.current.flatMap { $0.isProduction ? $0.name : nil }
        guard given != context else { return context }
        guard let context else {
            throw CommandFailure(
                exit: .usage, message: "--production: no production context is in use",
                hint: "'errand context ls' lists the contexts")
        }
        throw CommandFailure(
            exit: .refused, message: "\(context) is a production context and must be named",
            hint: "if it is meant: --production \(context)")
    }

    // MARK: approve

    private static let approve = Command(
        "destruction", "approve", effect: .write, summary: "Approve a planned destruction",
        discussion: """
            The person who planned it cannot approve it, and neither can the login of PostgreSQL \
            that planned it: 'errand destruction rules' has --allow-same and --allow-shared-login. \
            Names are compared without case, extra spaces and invisible characters.
            """,
        examples: [.init("errand destruction approve", "shows the plan, and asks")],
        options: [CustodyFormatting.reason]
    ) { invocation in
        let session = try invocation.session()
        let found = try await CustodyFormatting.destruction(session)
        try invocation.confirm(
            "approve destruction \(found.id), planned by \(found.plannedBy)"
                + (found.context.map { ", in production context \($0)" } ?? "")
                + (found.folders.isEmpty ? "" : ", with \(found.folders.joined(separator: ", "))")
                + (found.accepted.isEmpty
                    ? "" : ", despite \(found.accepted.joined(separator: ", "))") + "?")
        try await CustodyFormatting.refusing {
            _ = try await session.pipeline([
                Statement(
                    "SELECT custody.approve($1, $2)",
                    [.int64(found.id), .text(invocation.operatorName)]),
                audit("approve", invocation),
            ])
        }
        try await CustodyFormatting.show(found.id, invocation, session)
        invocation.output.note("to start it: errand destruction start")
        return .done
    }

    // MARK: cancel

    private static let cancel = Command(
        "destruction", "cancel", effect: .write,
        summary: "Cancel a destruction before its first key is destroyed",
        discussion: """
            Gives apps their rights back, and resumes the queues and schedules that it paused. A \
            start that is under way ends. Workers that it stopped must be started again.
            """,
        examples: [.init("errand destruction cancel --reason 'sold instead'", "asks first")],
        options: [CustodyFormatting.reason]
    ) { invocation in
        let session = try invocation.session()
        let found = try await CustodyFormatting.destruction(session)
        try invocation.confirm("cancel destruction \(found.id), which is \(found.state)?")
        try await CustodyFormatting.refusing {
            _ = try await session.pipeline([
                Statement(
                    "SELECT custody.cancel($1, $2)",
                    [.int64(found.id), .text(invocation.operatorName)]),
                audit("cancel", invocation),
            ])
        }
        try await CustodyFormatting.show(found.id, invocation, session)
        return .done
    }

    // MARK: rules

    private enum Switch: String, CaseIterable, Sendable { case on, off }
    private static let allowSame = Option<Switch?>.value(
        "allow-same", .choice(of: Switch.self, "on|off"),
        help: "Whether one person may plan and approve")
    private static let allowSharedLogin = Option<Switch?>.value(
        "allow-shared-login", .choice(of: Switch.self, "on|off"),
        help: "Whether two persons may plan and approve by one login of PostgreSQL")
    private static let noticeDays = Option<Int?>.value(
        "notice-days", .integer("DAYS", in: 0...365),
        help: "How many days before a destruction or transfer people must be notified")

    private static let rules = Command(
        "destruction", "rules", effect: .write,
        summary: "Show or change the rules of destruction and transfer",
        discussion: "Shows the rules without options. The audit log records changes.",
        examples: [
            .init("errand destruction rules", "the current rules"),
            .init("errand destruction rules --allow-shared-login on", "for a single login"),
        ],
        options: [allowSame, allowSharedLogin, noticeDays, CustodyFormatting.reason]
    ) { invocation in
        let session = try invocation.session()
        let changes: [Parameter] = [
            .optional(invocation[allowSame].map { $0 == .on }),
            .optional(invocation[allowSharedLogin].map { $0 == .on }),
            .optional(invocation[noticeDays].map(Int64.init)),
        ]
        if invocation[allowSame] != nil || invocation[allowSharedLogin] != nil
            || invocation[noticeDays] != nil
        {
            try invocation.confirm("change the rules of destruction and transfer?")
            _ = try await session.pipeline([
                Statement(
                    """
                    UPDATE custody.rules SET allows_same = coalesce($1::boolean, allows_same),
                        allows_shared_login = coalesce($2::boolean, allows_shared_login),
                        notice_days = coalesce($3::bigint, notice_days)
                    """, changes),
                Statement(
                    """
                    INSERT INTO errand.audit (operator, action, subject, reason, change)
                    SELECT $1, 'destruction rules', 'custody.rules', $2, to_jsonb(r) - 'is_only'
                    FROM custody.rules r
                    """,
                    [
                        .text(invocation.operatorName),
                        .optional(invocation[CustodyFormatting.reason]),
                    ]),
            ])
        }
        let row = try await session.query("SELECT * FROM custody.rules")[0]
        try invocation.output.show(
            Record([
                ("allow_same", .text(try row.bool("allows_same") ? "on" : "off")),
                ("allow_shared_login", .text(try row.bool("allows_shared_login") ? "on" : "off")),
                ("notice_days", .int(Int(try row.int32("notice_days")))),
            ]))
        return .done
    }
}
