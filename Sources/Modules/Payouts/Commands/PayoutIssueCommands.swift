import ErrandKeys
import ErrandCrypto
import ErrandDurableFiles
import FoundationEssentials
import ErrandGregorian
import Errand
import ErrandCommand
import ErrandLedger
import ErrandPaymentFiles
import ErrandPostgres
import ErrandRecurrence
import ErrandTerminal

/// `errand payout issue`, `export`, `return` and `statement`: files for banks and their returns.
enum PayoutIssueCommands {
    static let all = [issue, export, takeBack, statement]

    private static let folder = Option<String?>.text(
        "to", placeholder: "FOLDER", help: "Parent folder; each issue gets a subfolder"
    ).required()

    private static func issuing(_ invocation: Invocation) async throws -> Issuing {
        let profile = try PayoutSettings.profile(invocation.environment)
        let keys = try KeySettings.needed(invocation.environment)
        return Issuing(
            pool: try invocation.patientPool(3), client: try await invocation.client(),
            book: BankBook(sealing: keys), profile: profile, actor: invocation.operatorName)
    }

    /// Turns refusals and errors of files into command failures.
    private static func refusing<Value>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await PayoutFormatting.refusing(body) } catch let error as FileError {
            throw CommandFailure(exit: .failed, message: "\(error)")
        } catch let error as ReturnFileError {
            throw CommandFailure(exit: .usage, message: "\(error)")
        }
    }

    /// Shows an issue, its methods and its files.
    private static func show(_ issue: IssueRecord, _ invocation: Invocation) throws {
        let files = issue.files.map { file in
            Record([
                ("in_file", .id(Int(file.id))), ("method", .text(file.method.rawValue)),
                ("number", .int(Int(file.number))), ("payouts", .int(file.payouts)),
                ("amount", LedgerFormatting.cell(Money(file.amount, file.currency), invocation)),
                ("currency", .text(file.currency.code)),
            ])
        }
        let outputs = issue.files.flatMap(\.outputs).map { output in
            Record([
                ("file", .text(output.name)), ("size", .int(output.bytes)),
                ("sha256", .text(Hexadecimal.encode(output.sha256))),
            ])
        }
        try invocation.output.show(
            Record([
                ("issue", .text(issue.label)), ("id", .id(Int(issue.id))),
                ("issued_on", .text(issue.issuedOn.isoText)),
                ("pay_date", .text(issue.payDate.isoText)),
                ("held_payouts", .int(issue.held)),
                ("published_at", .optional(issue.publishedAt) { $0.cell }),
                ("actor", .text(issue.actor)), ("methods", .records(files)),
                ("files", .records(outputs)),
            ]))
    }

    // MARK: issue

    private static let issue = Command(
        "payout", "issue", effect: .write,
        summary: "Create the files of an approved run: bank files and printable cheques",
        discussion: """
            People with bank details are paid by deposit, all others by cheque. The folder of the \
            issue has the files, readable by their owner only. manifest.json is written last: do \
            not send files without it. An interrupted issue resumes with the same numbers and \
            bytes. Run it again to issue payouts that were reissued or released later.

            ERRAND_PAYOUTS_FILE is the path of the payout profile; ERRAND_KEYS_FILE has the keys \
            that open bank details.
            """,
        examples: [.init("errand payout issue 2026-Q3 --to /srv/payouts", "asks first")],
        options: [folder], arguments: [PayoutFormatting.run]
    ) { invocation in
        let session = try invocation.session()
        let run = try await PayoutFormatting.run(invocation[PayoutFormatting.run], session)
        let issuing = try await issuing(invocation)
        let plan = try await refusing { try await issuing.plan(run: run.id) }
        let parts = plan.parts.map { "\($0.payouts) by \($0.method.rawValue) in \($0.currency)" }
        try invocation.confirm(
            "issue \(run.quarter): "
                + "\(parts.isEmpty ? "resume the issue" : parts.joined(separator: ", "))?")
        let today = try await today(session, invocation)
        let made = try await refusing {
            try await issuing.issue(run: run.id, in: invocation[folder], today: today)
        }
        try show(made, invocation)
        return .done
    }

    /// The current day in the company's time zone.
    private static func today(
        _ session: Session, _ invocation: Invocation
    ) async throws -> CivilDate {
        let rules = try await PayRules.read(session)
        let zone = try invocation.zones.zone(named: rules.timeZone)
        return LocalTime(Int(Date().timeIntervalSince1970), in: zone).date
    }

    // MARK: export

    private static let issueNumber = Option<Int?>.integer(
        "issue", range: 1...10_000, placeholder: "N", help: "Only issue N of the run")

    private static let export = Command(
        "payout", "export", effect: .run,
        summary: "Recreate the files of an issued run, byte for byte",
        discussion: """
            Uses the data and numbers frozen by the issue. Refused if the current settings would \
            produce other bytes. Issues nothing.
            """,
        examples: [
            .init("errand payout export 2026-Q3 --to /tmp/again", "to compare or to resend")
        ],
        options: [folder, issueNumber], arguments: [PayoutFormatting.run]
    ) { invocation in
        let session = try invocation.session()
        let run = try await PayoutFormatting.run(invocation[PayoutFormatting.run], session)
        let issues = try await IssueRows(session: session).issues(ofRun: run.id).filter { issue in
            invocation[issueNumber].map { $0 == issue.number } ?? true
        }
        guard !issues.isEmpty else {
            throw CommandFailure(
                exit: .notFound, message: "\(run.quarter) has no such issue",
                hint: "'errand payout issue \(run.quarter)' creates one")
        }
        let issuing = try await issuing(invocation)
        for issue in issues {
            let made = try await refusing {
                try await issuing.remake(issue: issue.id, in: invocation[folder])
            }
            try show(made, invocation)
        }
        return .done
    }

    // MARK: return

    private static let ids = Argument.several(
        ValueFormat.integer("ID", in: 1...Int.max), minimum: 0, help: "The payouts' ids")
    private static let code = Option<String?>.text(
        "code", placeholder: "CODE", help: "The bank's return code, such as 905 or R02")
    private static let aftFile = Option<String?>.text(
        "aft", placeholder: "FILE", help: "Read a return file of a Canadian bank")
    private static let nachaFile = Option<String?>.text(
        "nacha", placeholder: "FILE", help: "Read a return file of a bank in the United States")

    private static let takeBack = Command(
        "payout", "return", effect: .write,
        summary: "Record returned payouts, from a bank's file or by id",
        discussion: """
            The money returns to the person's balance, and the person is notified. If the bank \
            details were wrong, deposits to them stop, and the next issue of the run pays by \
            cheque. Other returns wait for 'errand payout reissue'. Repeating a file changes \
            nothing. Exits 7 if items match no payout.
            """,
        examples: [
            .init("errand payout return --aft returns.txt", "from the bank's file"),
            .init("errand payout return 4711 --code 905 --yes", "by id"),
        ],
        options: [aftFile, nachaFile, code, PayoutFormatting.note], arguments: [ids]
    ) { invocation in
        let files = [invocation[aftFile], invocation[nachaFile]].compactMap { $0 }
        guard
            files.count == 1 && invocation[ids].isEmpty
                || files.isEmpty && !invocation[ids].isEmpty
        else {
            throw CommandFailure(
                exit: .usage, message: "expected --aft, --nacha or the ids of payouts")
        }
        let returned = ReturnedPayouts(
            pool: try invocation.patientPool(2), client: try await invocation.client(),
            actor: invocation.operatorName)
        guard let path = files.first else {
            return try await byHand(returned, invocation)
        }
        guard let bytes = try? Data(contentsOf: URL(filePath: path)) else {
            throw CommandFailure(exit: .notFound, message: "cannot read \(path)")
        }
        try invocation.confirm("record the returns of \(path)?")
        let result = try await refusing {
            invocation[aftFile] == nil
                ? try await returned.apply(nacha: Array(bytes))
                : try await returned.apply(aft: Array(bytes))
        }
        func records(_ items: [ReturnResult.Item]) -> Cell {
            .records(
                items.map { item in
                    Record([
                        ("reference", .text(item.reference)), ("amount", .int(Int(item.amount))),
                        ("file_record", .int(item.record)), ("explanation", .text(item.why)),
                    ])
                })
        }
        try invocation.output.show(
            Record([
                ("returned", .int(result.returned)), ("by_cheque", .int(result.byCheque)),
                ("already_recorded", .int(result.known)), ("to_decide", records(result.toDecide)),
                ("unmatched", records(result.unmatched)),
            ]))
        guard result.unmatched.isEmpty else {
            throw CommandFailure(
                exit: .partlyDone,
                message: "\(result.unmatched.count) items match no payout and were skipped",
                hint: "check each item; reading the file again is safe")
        }
        return .done
    }

    private static func byHand(
        _ returned: ReturnedPayouts, _ invocation: Invocation
    ) async throws -> ExitCode {
        let ids = Set(invocation[ids]).sorted()
        try invocation.confirm(
            "record the return of payout \(ids.map(String.init).joined(separator: ", "))?")
        let session = try invocation.session()
        var records: [Record] = []
        for id in ids {
            _ = try await refusing {
                try await returned.takeBack(
                    Int64(id), code: invocation[code], note: invocation[PayoutFormatting.note])
            }
            records.append(PayoutFormatting.record(try await PayoutFormatting.payout(id, session)))
        }
        try invocation.output.list(records)
        return .done
    }

    // MARK: statement

    private static let year = Option<Int?>.integer(
        "year", range: 2000...2099, placeholder: "YEAR", help: "The year of the pay dates"
    ).required()
    private static let currency = Option<Currency>.value(
        "currency", PayoutFormatting.currency, default: .cad, help: "The currency")
    private static let pdf = Option<String?>.text(
        "pdf", placeholder: "FILE", help: "Write a PDF to FILE, replacing an existing file")

    private static let statement = Command(
        "payout", "statement", effect: .read,
        summary: "Print a person's payouts of a year, as CSV or PDF",
        discussion: """
            Prints CSV to standard output; --pdf writes a file that only its owner can read. \
            Returned payouts are omitted; their replacements are included.
            """,
        examples: [
            .init("errand payout statement 42 --year 2026", "for a spreadsheet"),
            .init("errand payout statement 42 --year 2026 --pdf 42.pdf", "for the person"),
        ],
        options: [year, currency, pdf], arguments: [PayoutFormatting.person]
    ) { invocation in
        let session = try invocation.session()
        let statement = try await refusing {
            try await PersonStatement.read(
                person: Int64(invocation[PayoutFormatting.person]), year: invocation[year],
                currency: invocation[currency], session)
        }
        guard let path = invocation[pdf] else {
            try invocation.output.screen.write(statement.csv())
            return .done
        }
        let profile = try PayoutSettings.profile(invocation.environment)
        let bytes = try PersonStatement.pdf(
            statement, issuer: profile.company, created: try await today(session, invocation))
        try TextFile.replace(path, with: bytes, isSecret: true)
        try invocation.output.show(
            Record([("file", .text(path)), ("size", .int(bytes.count))]))
        return .done
    }
}
