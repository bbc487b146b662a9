import Errand
package import ErrandPostgres

/// The operators' changes to reports and payments, each with its line of the audit log.
///
/// - Throws: ``ReportError`` for what the schema refuses.
package struct ReportChanges: Sendable {
    private let session: Session
    private let actor: String

    package init(session: Session, actor: String) {
        self.session = session
        self.actor = actor
    }

    private func run<Value: Sendable>(
        _ action: String, _ subject: String, reason: String? = nil, _ sql: String,
        _ parameters: [Parameter], read: @escaping @Sendable (Rows) throws -> Value
    ) async throws -> Value {
        let line = AuditLine(
            operatorName: actor, action: action, subject: subject, reason: reason)
        do {
            return try await session.transaction { session in
                let value = try read(try session.pipeline([Statement(sql, parameters)])[0])
                _ = try session.pipeline([line.statement])
                return value
            }
        } catch let error as PostgresError {
            if let refusal = ReportError(error) { throw refusal }
            throw error
        }
    }

    /// Notes what an establishment paid; false if it was noted before.
    package func paid(
        _ establishment: Int64, amount: Int64, currency: String, reference: String
    ) async throws -> Bool {
        try await run(
            "establishment paid", "establishment \(establishment): \(reference)",
            "SELECT reports.note_payment($1, $2, $3, $4, $5)",
            [
                .int64(establishment), .int64(amount), .text(currency), .text(reference),
                .text(actor),
            ]
        ) { try $0.bool(0, 0) }
    }

    /// Reverses a payment that was noted by mistake; false if that was done before.
    package func correct(
        _ establishment: Int64, reference: String, reason: String
    ) async throws -> Bool {
        try await run(
            "establishment correct", "establishment \(establishment): \(reference)",
            reason: reason, "SELECT reports.correct_payment($1, $2, $3, $4)",
            [.int64(establishment), .text(reference), .text(reason), .text(actor)]
        ) { try $0.bool(0, 0) }
    }

    /// Has reports made for an establishment, or changes its time zone; false if it got some.
    package func put(_ establishment: Int64, timeZone: String) async throws -> Bool {
        try await run(
            "establishment zone", "establishment \(establishment): \(timeZone)",
            "SELECT reports.put_settings($1, $2)", [.int64(establishment), .text(timeZone)]
        ) { try $0.bool(0, 0) }
    }

    /// Adds a contact; false if it was one.
    package func add(
        contact email: String, locale: String, to establishment: Int64
    ) async throws -> Bool {
        try await run(
            "establishment contacts", "establishment \(establishment)",
            "SELECT reports.put_contact($1, $2, $3)",
            [.int64(establishment), .text(email), .text(locale)]
        ) { try $0.bool(0, 0) }
    }

    /// Removes a contact; false if it was none.
    package func remove(contact email: String, from establishment: Int64) async throws -> Bool {
        try await run(
            "establishment contacts", "establishment \(establishment)",
            "SELECT reports.remove_contact($1, $2)", [.int64(establishment), .text(email)]
        ) { try $0.bool(0, 0) }
    }

    /// Notifies the contacts of a report again; returns their number.
    package func resend(_ report: Int64, now: Instant) async throws -> Int {
        try await run(
            "report resend", "report \(report)", "SELECT reports.send($1, $2)",
            [.int64(report), .timestamp(now)]
        ) { Int(try $0.int32(0, 0)) }
    }

    /// Adds a report of a period that is over; returns its id, also of one that is known.
    package func open(
        _ establishment: Int64, kind: String, period: String, now: Instant
    ) async throws -> Int64 {
        try await run(
            "report make", "establishment \(establishment): \(kind) \(period)",
            "SELECT reports.open_report($1, $2::text::reports.report_kind, $3, $4)",
            [.int64(establishment), .text(kind), .text(period), .timestamp(now)]
        ) { try $0.int64(0, 0) }
    }
}
