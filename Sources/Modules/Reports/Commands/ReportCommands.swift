import Errand
import ErrandCommand
import ErrandCrypto
import ErrandDurableFiles
import ErrandPostgres
import ErrandTerminal

/// `errand report …`: reports of establishments.
enum ReportCommands {
    static let all = [list, show, make, resend, verify]

    private static let id = Argument.required(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The report's id")
    private static let establishment = Option<Int?>.integer(
        "establishment", range: 1...Int.max, placeholder: "ID",
        help: "Only of this establishment")

    /// Turns refusals of the schema's functions, and errors of files, into command failures.
    static func refusing<Value>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch let error as ReportError {
            throw failure(error)
        } catch let error as FileError {
            throw CommandFailure(exit: .failed, message: "\(error)")
        }
    }

    static func failure(_ error: ReportError) -> CommandFailure {
        switch error {
        case .notFound(let words): CommandFailure(exit: .notFound, message: words)
        case .conflict(let words): CommandFailure(exit: .conflict, message: words)
        case .refused(let words, let hint):
            CommandFailure(exit: .refused, message: words, hint: hint)
        case .invalid(let words): CommandFailure(exit: .usage, message: words)
        }
    }

    private static func record(_ report: ReportRecord) -> Record {
        Record([
            ("id", .id(Int(report.id))), ("establishment", .id(Int(report.establishment))),
            ("establishment_name", .text(report.establishmentName)),
            ("report_kind", .text(report.kind)), ("period", .text(report.period)),
            ("revision", .int(Int(report.revision))), ("due_at", report.dueAt.cell),
            ("made_at", .optional(report.madeAt) { $0.cell }),
            ("time_zone", .text(report.timeZone)), ("sendings", .int(Int(report.sendings))),
            ("folder", .optional(report.folder) { .text($0) }),
        ])
    }

    private static func report(_ id: Int, _ session: Session) async throws -> ReportRecord {
        guard let report = try await ReportRows(session: session).report(Int64(id)) else {
            throw CommandFailure(
                exit: .notFound, message: "there is no report \(id)",
                hint: "'errand report ls' lists the reports")
        }
        return report
    }

    // MARK: ls, show

    private static let period = Option<String?>.value(
        "period", .line("PERIOD", upTo: 10), help: "Only of this period, such as 2026-W47")
    private static let late = Option.flag("late", help: "Only those that are not made yet")

    private static let list = Command(
        "report", "ls", effect: .read, summary: "List reports of establishments, newest first",
        examples: [
            .init("errand report ls --establishment 7", "those of one establishment"),
            .init("errand report ls --late", "those that are not made yet"),
        ],
        options: [establishment, period, late, PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        let found = try await ReportRows(session: try invocation.session()).page(
            establishment: invocation[establishment].map(Int64.init),
            period: invocation[period], isLate: invocation[late],
            behind: invocation[PageOptions.cursor].map(Int64.init),
            limit: invocation[PageOptions.limit])
        try invocation.output.list(
            found.map(record),
            columns: [
                Column("id"), Column("establishment"),
                Column("establishment_name", isFlexible: true), Column("report_kind"),
                Column("period"), Column("revision"), Column("made_at"),
            ], empty: "no reports match")
        PageOptions.printMore(invocation, count: found.count, last: found.last?.id)
        return .done
    }

    private static let show = Command(
        "report", "show", effect: .read, summary: "Show a report with the files of each revision",
        examples: [.init("errand report show 12", "where its files are")],
        arguments: [id]
    ) { invocation in
        let session = try invocation.session()
        let report = try await report(invocation[id], session)
        var card = record(report)
        let files = try await ReportRows(session: session).files(of: report.id)
        card.append(
            "files",
            .records(
                files.map { file in
                    Record([
                        ("file", .text("\(file.folder)/\(file.name)")),
                        ("size", .int(Int(file.bytes))),
                        ("sha256", .text(Hexadecimal.encode(file.sha256))),
                    ])
                }))
        try invocation.output.show(card)
        return .done
    }

    // MARK: make

    private static let week = Option<String?>.value(
        "week", .line("WEEK", upTo: 10), help: "The week, such as 2026-W47")
    private static let month = Option<String?>.value(
        "month", .line("MONTH", upTo: 10),
        help: "The month, such as 2026-10: the report and the statement")

    private static let make = Command(
        "report", "make", effect: .write,
        summary: "Make the reports of a week or month, or check those that were made",
        discussion: """
            If the figures have changed since by at least five people, another revision is made, \
            and the contacts are notified; the earlier one stays. If fewer people make the \
            difference, the report stands as it was published. Else missing files are written \
            again, byte for byte. What the retention has begun to remove is refused. \
            ERRAND_REPORTS_DIR is the folder; run it as the user of the workers, who may write \
            into it. Without --establishment, it makes the reports of all. Exits 7 if some failed.
            """,
        examples: [
            .init("errand report make --establishment 7 --week 2026-W47", "one report"),
            .init("errand report make --month 2026-10 --yes", "all establishments"),
        ],
        options: [establishment, week, month]
    ) { invocation in
        let kinds: [String]
        let period: String
        switch (invocation[week], invocation[month]) {
        case (let week?, nil): (kinds, period) = (["weekly"], week)
        case (nil, let month?): (kinds, period) = (["monthly", "statement"], month)
        default: throw CommandFailure(exit: .usage, message: "expected --week or --month")
        }
        let root = try ReportSettings.needed(invocation.environment)
        let session = try invocation.session()
        let ids =
            if let one = invocation[establishment] { [Int64(one)] } else {
                try await ReportRows(session: session).establishments(
                    kind: kinds[0], period: period)
            }
        try invocation.confirm(
            "make the reports of \(period) of "
                + (ids.count == 1 ? "establishment \(ids[0])?" : "\(ids.count) establishments?"))
        let changes = ReportChanges(session: session, actor: invocation.operatorName)
        let pool = try invocation.patientPool(1)
        let maker = ReportMaker(root: root)
        var records: [Record] = []
        var failures: [CommandFailure] = []
        for id in ids {
            for kind in kinds {
                do {
                    let report = try await refusing {
                        try await changes.open(id, kind: kind, period: period, now: .now())
                    }
                    let result = try await refusing {
                        try await pool.transaction { transaction in
                            try await maker.make(report, now: .now(), in: transaction)
                        }
                    }
                    records.append(line(report, id, kind, period, result.rawValue))
                } catch let failure as CommandFailure {
                    failures.append(failure)
                    records.append(line(nil, id, kind, period, failure.message))
                } catch let error where !(error is CancellationError) {
                    failures.append(CommandFailure(exit: .failed, message: "\(error)"))
                    records.append(line(nil, id, kind, period, "\(error)"))
                }
            }
        }
        if let first = failures.first, failures.count == records.count { throw first }
        try invocation.output.list(
            records,
            columns: [
                Column("id"), Column("establishment"), Column("report_kind"), Column("period"),
                Column("result", isFlexible: true),
            ], empty: "no establishment gets reports")
        guard failures.isEmpty else {
            throw CommandFailure(
                exit: .partlyDone,
                message: "\(failures.count) of \(records.count) reports failed",
                hint: "running it again is safe")
        }
        return .done
    }

    private static func line(
        _ report: Int64?, _ establishment: Int64, _ kind: String, _ period: String,
        _ result: String
    ) -> Record {
        Record([
            ("id", .optional(report) { .id(Int($0)) }),
            ("establishment", .id(Int(establishment))), ("report_kind", .text(kind)),
            ("period", .text(period)), ("result", .text(result)),
        ])
    }

    // MARK: resend, verify

    private static let resend = Command(
        "report", "resend", effect: .write,
        summary: "Notify the contacts and the webhook of a report again",
        examples: [.init("errand report resend 12", "after a contact was added")],
        arguments: [id]
    ) { invocation in
        let session = try invocation.session()
        let report = try await report(invocation[id], session)
        try invocation.confirm(
            "notify the contacts of establishment \(report.establishment) of \(report.period)?")
        let contacts = try await refusing {
            try await ReportChanges(session: session, actor: invocation.operatorName)
                .resend(report.id, now: .now())
        }
        try invocation.output.show(
            Record([("id", .id(Int(report.id))), ("contacts", .int(contacts))]))
        return .done
    }

    private static let verify = Command(
        "report", "verify", effect: .read,
        summary: "Compare the files of reports with their recorded SHA-256",
        discussion: """
            Reads the files of the newest revisions, and manifest.json. Exits 7 if one is missing \
            or has another content. 'errand report make' writes missing files again.
            """,
        examples: [.init("errand report verify --establishment 7", "after a restore")],
        options: [establishment, PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        let root = try ReportSettings.needed(invocation.environment)
        let rows = ReportRows(session: try invocation.session())
        let reports = try await rows.page(
            establishment: invocation[establishment].map(Int64.init), period: nil, isLate: false,
            behind: invocation[PageOptions.cursor].map(Int64.init),
            limit: invocation[PageOptions.limit])
        var (records, checked): ([Record], Int) = ([], 0)
        for report in reports where report.revision > 0 {
            let files = try await rows.files(of: report.id).filter {
                $0.revision == report.revision
            }
            for problem in try await refusing({ try problems(of: files, below: root) }) {
                records.append(
                    Record([
                        ("id", .id(Int(report.id))), ("file", .text(problem.file)),
                        ("result", .text(problem.result)),
                    ]))
            }
            checked += files.isEmpty ? 0 : files.count + 1
        }
        try invocation.output.list(
            records, columns: [Column("id"), Column("file", isFlexible: true), Column("result")],
            empty: "\(checked) files have their recorded content")
        PageOptions.printMore(invocation, count: reports.count, last: reports.last?.id)
        guard records.isEmpty else {
            throw CommandFailure(
                exit: .partlyDone,
                message: "\(records.count) of \(checked) files are missing or have changed",
                hint: "'errand report make' writes missing files again")
        }
        return .done
    }

    /// The files of a revision that are missing or have changed.
    static func problems(
        of files: [ReportFileRecord], below root: String
    ) throws -> [(file: String, result: String)] {
        guard let first = files.first else { return [] }
        let expected =
            files.map { ($0.name, $0.sha256) } + [(ReportFolder.manifestName, first.manifest)]
        return try expected.compactMap { name, sum in
            let found = try PrivateFolder.digest(of: name, in: "\(root)/\(first.folder)")
            guard found != sum else { return nil }
            return ("\(first.folder)/\(name)", found == nil ? "missing" : "changed")
        }
    }
}
