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

/// The files for the banks, and what comes back from them.
enum PayoutIssueCommands {
    static let all = [issue, export, takeBack, statement]

    private static let folder = Option<String?>.text(
        "to", placeholder: "FOLDER", help: "The folder in which each issue gets a folder of its own"
    ).required()

    private static func issuing(_ invocation: Invocation) async throws -> Issuing {
        let profile = try PayoutSettings.profile(invocation.environment)
        let keys = try KeySettings.needed(invocation.environment)
        return Issuing(
            pool: try invocation.patientPool(3), client: try await invocation.client(),
            book: BankBook(sealing: keys), profile: profile, actor: invocation.operatorName)
    }

    /// Puts what else can go wrong with files into words.
    private static func refusing<Value>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await PayoutWords.refusing(body) } catch let error as FileError {
            throw CommandFailure(exit: .failed, message: "\(error)")
        } catch let error as ReturnFileError {
            throw CommandFailure(exit: .usage, message: "\(error)")
        }
    }

    /// An issue, its files and, in a card, what is in them.
    private static func show(_ issue: IssueRecord, _ invocation: Invocation) throws {
        let files = issue.files.map { file in
            Record([
                ("in_file", .id(Int(file.id))), ("method", .text(file.method.rawValue)),
                ("number", .int(Int(file.number))), ("payouts", .int(file.payouts)),
                ("amount", LedgerWords.cell(Money(file.amount, file.currency), invocation)),
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
        "payout", "issue", effect: .changes,
        summary: "Make the files of an approved run: for the banks, and cheques to be printed",
        discussion: """
            Deposits where people gave bank details, cheques for the others. The folder of the \
            issue has the files, which only their owner may read, and manifest.json, which is \
            written last: without it the issue is not complete, and nothing of it is to be sent. \
            Interrupted, it goes on where it was, with the same numbers and the same bytes. What \
            is reissued or released later is issued by running it again.

            ERRAND_PAYOUTS_FILE names the file that says who pays; ERRAND_KEYS_FILE the keys that \
            open the bank details.
            """,
        examples: [.init("errand payout issue 2026-Q3 --to /srv/payouts", "asks first")],
        options: [folder], arguments: [PayoutWords.run]
    ) { invocation in
        let session = try invocation.session()
        let run = try await PayoutWords.run(invocation[PayoutWords.run], session)
        let issuing = try await issuing(invocation)
        let plan = try await refusing { try await issuing.plan(run: run.id) }
        let parts = plan.parts.map { "\($0.payouts) by \($0.method.rawValue) in \($0.currency)" }
        try invocation.confirm(
            "issue \(run.quarter): "
                + "\(parts.isEmpty ? "what was begun" : parts.joined(separator: ", "))?")
        let today = try await today(session, invocation)
        let made = try await refusing {
            try await issuing.issue(run: run.id, in: invocation[folder], today: today)
        }
        try show(made, invocation)
        return .done
    }

    /// The day in the company's time zone.
    private static func today(
        _ session: Session, _ invocation: Invocation
    ) async throws -> CivilDate {
        let rules = try await PayRules.read(session)
        let zone = try invocation.zones.zone(named: rules.timeZone)
        return LocalTime(Int(Date().timeIntervalSince1970), in: zone).date
    }

    // MARK: export

    private static let issueNumber = Option<Int?>.integer(
        "issue", range: 1...10_000, placeholder: "N", help: "Which issue of the run (default: all)")

    private static let export = Command(
        "payout", "export", effect: .starts,
        summary: "Write the files of an issued run again, byte for byte",
        discussion: """
            From what was frozen when it was issued, under the same numbers. Refused when the \
            settings of today would give other bytes. Nothing is issued by it.
            """,
        examples: [
            .init("errand payout export 2026-Q3 --to /tmp/again", "to compare or to resend")
        ],
        options: [folder, issueNumber], arguments: [PayoutWords.run]
    ) { invocation in
        let session = try invocation.session()
        let run = try await PayoutWords.run(invocation[PayoutWords.run], session)
        let issues = try await IssueRows(session: session).issues(ofRun: run.id).filter { issue in
            invocation[issueNumber].map { $0 == issue.number } ?? true
        }
        guard !issues.isEmpty else {
            throw CommandFailure(
                exit: .notFound, message: "\(run.quarter) has no such issue",
                hint: "'errand payout issue \(run.quarter)' makes one")
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
        ValueFormat.integer("ID", in: 1...Int.max), minimum: 0, help: "Payouts by their ids")
    private static let code = Option<String?>.text(
        "code", placeholder: "CODE", help: "The bank's code, such as 905 or R02")
    private static let aftFile = Option<String?>.text(
        "aft", placeholder: "FILE", help: "A file of returns from a Canadian bank")
    private static let nachaFile = Option<String?>.text(
        "nacha", placeholder: "FILE", help: "A file of returns from a bank in the United States")

    private static let takeBack = Command(
        "payout", "return", effect: .changes,
        summary: "Take note of payouts that came back, from a bank's file or by hand",
        discussion: """
            The money is the person's again, and they are told. Where the bank details were wrong \
            nothing more is sent to them, and a cheque is to pay it: the next issue of the run has \
            it. Other returns wait for 'errand payout reissue'. The same file again changes \
            nothing. Exits 7 when items could not be matched.
            """,
        examples: [
            .init("errand payout return --aft returns.txt", "the bank's file"),
            .init("errand payout return 4711 --code 905 --yes", "by hand"),
        ],
        options: [aftFile, nachaFile, code, PayoutWords.note], arguments: [ids]
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
        try invocation.confirm("take back what \(path) says has come back?")
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
                        ("file_record", .int(item.record)), ("because", .text(item.why)),
                    ])
                })
        }
        try invocation.output.show(
            Record([
                ("returned", .int(result.returned)), ("by_cheque", .int(result.byCheque)),
                ("known", .int(result.known)), ("to_decide", records(result.toDecide)),
                ("unmatched", records(result.unmatched)),
            ]))
        guard result.unmatched.isEmpty else {
            throw CommandFailure(
                exit: .partlyDone,
                message: "\(result.unmatched.count) items were left as they are",
                hint: "look at each of them; the file may be read again")
        }
        return .done
    }

    private static func byHand(
        _ returned: ReturnedPayouts, _ invocation: Invocation
    ) async throws -> ExitCode {
        let ids = Set(invocation[ids]).sorted()
        try invocation.confirm("take back payout \(ids.map(String.init).joined(separator: ", "))?")
        let session = try invocation.session()
        var records: [Record] = []
        for id in ids {
            _ = try await refusing {
                try await returned.takeBack(
                    Int64(id), code: invocation[code], note: invocation[PayoutWords.note])
            }
            records.append(PayoutWords.record(try await PayoutWords.payout(id, session)))
        }
        try invocation.output.list(records)
        return .done
    }

    // MARK: statement

    private static let year = Option<Int?>.integer(
        "year", range: 2000...2099, placeholder: "YEAR", help: "By the pay dates"
    ).required()
    private static let currency = Option<Currency>.value(
        "currency", PayoutWords.currency, default: .cad, help: "The currency")
    private static let pdf = Option<String?>.text(
        "pdf", placeholder: "FILE", help: "Write a document to this file, in place of another one")

    private static let statement = Command(
        "payout", "statement", effect: .looks,
        summary: "Print what a person was paid in a year, as CSV or PDF",
        discussion: """
            CSV goes to standard output; with --pdf a document is written that only its owner may \
            read. What came back is not in it; what replaced it is.
            """,
        examples: [
            .init("errand payout statement 42 --year 2026", "for a spreadsheet"),
            .init("errand payout statement 42 --year 2026 --pdf 42.pdf", "for the person"),
        ],
        options: [year, currency, pdf], arguments: [PayoutWords.person]
    ) { invocation in
        let session = try invocation.session()
        let statement = try await refusing {
            try await PersonStatement.read(
                person: Int64(invocation[PayoutWords.person]), year: invocation[year],
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
