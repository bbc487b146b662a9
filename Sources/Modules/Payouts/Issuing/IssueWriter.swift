import ErrandDurableFiles
import ErrandLedger
import ErrandPaymentFiles
import ErrandPostgres

/// Writes the files of an issue from its frozen data, with the same bytes every time.
struct IssueWriter: Sendable {
    let pool: Pool
    let book: BankBook
    let profile: IssueProfile
    let issue: IssueRecord

    /// Payouts per read.
    private static let pageSize = 2_000

    /// The data of one payout in a file.
    private struct Item: Sendable {
        var id: Int64
        var payee: String
        var address: [String]
        var amount: Int64
        var chequeNumber: Int64?
        var account: BankDetails?
        var lines: [UInt8]?

        var reference: String { PayoutReference.text(of: id) }
    }

    // Lateral lookups by id: the planner might read all earlier payouts for a join.
    private static let items = """
        SELECT i.payout_id, i.person_id, i.payee, i.address, i.sealed, i.lines, p.amount,
            p.cheque_number
        FROM (
            SELECT * FROM payouts.items t
            WHERE t.file_id = $1 AND t.payout_id > $2 ORDER BY t.payout_id LIMIT $3
        ) i
        CROSS JOIN LATERAL (
            SELECT q.amount, q.cheque_number FROM payouts.payouts q
            WHERE q.id = i.payout_id OFFSET 0) p
        ORDER BY i.payout_id
        """
    private static let note = """
        INSERT INTO payouts.outputs (file_id, name, bytes, sha256) VALUES ($1, $2, $3, $4)
        ON CONFLICT ON CONSTRAINT outputs_pkey DO NOTHING
        """

    /// Writes all files, then the manifest.
    ///
    /// - Parameters:
    ///   - path: the folder of the issue; created if missing.
    ///   - isDone: called with the name of each complete file.
    func write(to path: String, isDone: (String) throws -> Void) async throws {
        var folder = try IssueFolder(path)
        for file in issue.files {
            guard let series = profile.series(of: file.method, file.currency.code),
                series.name == file.series
            else {
                throw PayoutError.refused(
                    "the payout profile has changed: the \(file.method.rawValue) file in "
                        + "\(file.currency) is number \(file.number) of another series",
                    hint: "Use the profile of the original issue.")
            }
            try Task.checkCancellation()
            switch file.method {
            case .aft: try await writeAFT(file, to: &folder, isDone)
            case .nacha: try await writeNACHA(file, to: &folder, isDone)
            case .cheque: try await writeCheques(file, to: &folder, isDone)
            }
        }
        try folder.finish(run: issue.label, issued: issue.issuedOn)
        try isDone(IssueFolder.manifestName)
    }

    /// Writes the deposits, and reads the next page meanwhile.
    private func forEachDeposit(
        of file: IssueFileRecord, _ write: (Deposit) throws -> Void
    ) async throws {
        var page = try await read(file, behind: 0)
        while let last = page.last?.id {
            async let next = read(file, behind: last)
            for item in page { try write(try deposit(item)) }
            page = try await next
        }
    }

    private func writeAFT(
        _ file: IssueFileRecord, to folder: inout IssueFolder, _ isDone: (String) throws -> Void
    ) async throws {
        guard let settings = profile.aft[file.currency.code] else { return }
        let name = "aft-\(file.currency)-\(Self.padded(Int64(file.creationNumber), 4)).txt"
        let draft = try folder.draft(name)
        var writer = try draft.write {
            try AFTFile(
                settings, number: file.creationNumber, created: issue.issuedOn,
                paid: issue.payDate, to: &$0)
        }
        try await forEachDeposit(of: file) { deposit in
            try draft.write { try writer.add(deposit, to: &$0) }
        }
        let totals = try draft.write { try writer.end(to: &$0) }
        try await publish(
            draft, name, .aft, totals, of: file, number: file.creationNumber, to: &folder)
        try check(totals, file)
        try isDone(name)
    }

    private func writeNACHA(
        _ file: IssueFileRecord, to folder: inout IssueFolder, _ isDone: (String) throws -> Void
    ) async throws {
        guard let settings = profile.nacha else { return }
        let name = "nacha-\(file.currency)-\(Self.padded(file.number, 4)).txt"
        let draft = try folder.draft(name)
        var writer = try draft.write {
            try NACHAFile(
                settings, modifier: file.modifier, created: issue.issuedOn,
                effective: issue.payDate, to: &$0)
        }
        try await forEachDeposit(of: file) { deposit in
            try draft.write { try writer.add(deposit, to: &$0) }
        }
        let totals = try draft.write { try writer.end(to: &$0) }
        try await publish(draft, name, .nacha, totals, of: file, to: &folder)
        try check(totals, file)
        try isDone(name)
    }

    /// Writes the bank's list, and the cheques in files of ``ChequeSheets/mostCheques``.
    private func writeCheques(
        _ file: IssueFileRecord, to folder: inout IssueFolder, _ isDone: (String) throws -> Void
    ) async throws {
        guard let part = profile.cheques[file.currency.code] else { return }
        let stem = "cheques-\(file.currency)"
        let draft = try folder.draft("\(stem).csv")
        var register = try ChequeRegister(account: part.issuer.account, form: part.register)
        var sheets = 0
        var behind: Int64 = 0
        while true {
            try Task.checkCancellation()
            let page = try await read(file, behind: behind, limit: ChequeSheets.mostCheques)
            guard let last = page.last else { break }
            behind = last.id
            sheets += 1
            let printer = try ChequeSheets(issuer: part.issuer, created: issue.issuedOn)
            for item in page {
                let cheque = try cheque(item)
                try draft.write {
                    try register.add(
                        number: cheque.number, amount: cheque.amount, date: cheque.date,
                        payee: cheque.payee, to: &$0)
                }
                try printer.add(cheque)
            }
            let printed = try printer.finish()
            let name = "\(stem)-\(Self.padded(Int64(sheets), 4))"
            try await publish(
                printed.sheets, "\(name).pdf", .chequeSheets, printed.totals, of: file,
                to: &folder)
            if let rest = printed.continuation {
                try await publish(
                    rest, "\(name)-continued.pdf", .chequeContinuation, printed.totals, of: file,
                    to: &folder)
            }
            try isDone("\(name).pdf")
        }
        let totals = register.end()
        try await publish(draft, "\(stem).csv", .chequeRegister, totals, of: file, to: &folder)
        try check(totals, file)
        try isDone("\(stem).csv")
    }

    // MARK: Files

    private func publish(
        _ bytes: [UInt8], _ name: String, _ kind: IssueFolder.Kind, _ totals: FileTotals,
        of file: IssueFileRecord, to folder: inout IssueFolder
    ) async throws {
        let draft = try folder.draft(name)
        try draft.append(bytes)
        try await publish(draft, name, kind, totals, of: file, to: &folder)
    }

    private func publish(
        _ draft: FileDraft, _ name: String, _ kind: IssueFolder.Kind, _ totals: FileTotals,
        of file: IssueFileRecord, number: Int? = nil, to folder: inout IssueFolder
    ) async throws {
        let known = file.outputs.first { $0.name == name }
        // All files of a complete issue are recorded.
        guard known != nil || issue.publishedAt == nil else {
            throw FileError.unexpectedContent(file: "\(folder.path)/\(name)")
        }
        let published = try folder.publish(
            draft, kind: kind, currency: file.currency.code, totals: totals, number: number,
            expecting: known?.sha256)
        guard known == nil else { return }
        _ = try await pool.withSession { session in
            try await session.query(
                Self.note,
                [
                    .int64(file.id), .text(name), .int64(Int64(published.size)),
                    .bytes(published.sha256),
                ]
            ).affected
        }
    }

    private func check(_ totals: FileTotals, _ file: IssueFileRecord) throws {
        guard totals.payments == file.payouts, totals.amount == file.amount else {
            throw PayoutError.conflict(
                "file \(file.id) has \(totals.payments) payouts of \(totals.amount) minor units, "
                    + "but expected \(file.payouts) of \(file.amount)")
        }
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    // MARK: Payouts

    private func deposit(_ item: Item) throws -> Deposit {
        guard let account = item.account else {
            throw PayoutError.conflict("payout \(item.id) has no bank details in its file")
        }
        return Deposit(
            reference: item.reference, payee: item.payee, amount: item.amount, account: account,
            note: issue.quarter.description)
    }

    private func cheque(_ item: Item) throws -> Cheque {
        guard let number = item.chequeNumber else {
            throw PayoutError.conflict("payout \(item.id) has no cheque number")
        }
        return Cheque(
            number: number, amount: item.amount, date: issue.payDate, payee: item.payee,
            address: item.address, memo: "\(issue.quarter) \(item.reference)",
            lines: try ChequeStub.lines(item.lines, amount: item.amount, quarter: issue.quarter))
    }

    private func read(
        _ file: IssueFileRecord, behind: Int64, limit: Int = pageSize
    ) async throws -> [Item] {
        let rows = try await pool.withSession { session in
            try await session.query(
                Self.items, [.int64(file.id), .int64(behind), .int64(Int64(limit))])
        }
        return try rows.map { row in
            let id = try row.int64("payout_id")
            let person = try row.int64("person_id")
            var account: BankDetails?
            if let sealed = try row.optionalBytes("sealed") {
                account = try open(sealed, of: person, payout: id)
            }
            return Item(
                id: id, payee: try row.text("payee"), address: try row.textArray("address"),
                amount: try row.int64("amount"),
                chequeNumber: try row.optionalInt64("cheque_number"), account: account,
                lines: try row.optionalJSON("lines"))
        }
    }

    private func open(
        _ sealed: [UInt8], of person: Int64, payout: Int64
    ) throws -> BankDetails {
        do throws(UnreadableBankDetails) { return try book.open(sealed, of: person) } catch {
            if case .keyMissing = error { throw IssuePlan.missingKey(error) }
            throw PayoutError.conflict("payout \(payout): \(error)")
        }
    }
}
