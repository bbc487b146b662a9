import Errand
import ErrandCommand
import ErrandPeople
import ErrandDurableFiles
import ErrandCrypto
import ErrandPostgres
import ErrandTerminal
import FoundationEssentials

/// `errand destruction start`, `status` and `certificate`.
enum DestructionRunCommands {
    static let all = [start, status, certificate]

    // MARK: start

    private static let timeout = Option<Duration>.duration(
        "timeout", default: .seconds(60), range: .zero ... .seconds(86_400),
        help: "Wait at most this long for running jobs and workers")
    private static let production = Option<String?>.text(
        "production", placeholder: "CONTEXT",
        help: "The name of the context, if it is a production context")

    private static let start = Command(
        "destruction", "start", effect: .write,
        summary: "Start or continue an approved destruction",
        discussion: """
            Cannot be undone once the keys are destroyed. The steps: intake (revoke the functions \
            of apps, pause queues and schedules), drain (stop the workers), count, keys (overwrite \
            and remove the file of ERRAND_KEYS_FILE), data (empty all tables), redis, files (the \
            folders of the plan), verify. Refuses if sealed values need keys that the file does \
            not have. After an interruption run it again: it continues with \
            the step that was interrupted. Exits 8 if workers do not stop in time. Run it where \
            the key file and the folders are.
            """,
        examples: [
            .init("errand destruction start", "asks first")
        ],
        options: [timeout, production, CustodyFormatting.reason]
    ) { invocation in
        let session = try invocation.unlimitedSession()
        let found = try await CustodyFormatting.destruction(session)
        let context = try DestructionCommands.productionContext(invocation[production], invocation)
        guard context == found.context else {
            throw CommandFailure(
                exit: .refused,
                message: "destruction \(found.id) was planned in "
                    + (found.context.map { "the production context \($0)" }
                        ?? "no production context"),
                hint: "select the context of the plan with --context")
        }
        if found.state == "approved" {
            let open = try await invocation.openMatters(session)
                .filter { !found.accepted.contains($0.name) }
            if let first = open.first {
                throw CommandFailure(
                    exit: .refused, message: "\(first.name): \(first.message)",
                    hint: "\(first.remedy)  # or plan again with --accept \(first.name)")
            }
            _ = try await KeyFileDestruction(invocation, session).detail(
                after: .init(), isAccepted: found.accepted.contains(KeyFileDestruction.matter))
        }
        try invocation.confirm(
            "destroy all customer data of this database, as destruction \(found.id) says?")
        return try await CustodyFormatting.refusing {
            try await expectAlone(session, found)
            _ = try await session.query(
                "SELECT custody.begin_destruction($1, $2)",
                [.int64(found.id), .text(invocation.operatorName)])
            try await DestructionRun(
                id: found.id, session: session, invocation: invocation, record: found,
                timeout: invocation[timeout]
            ).run()
            try await CustodyFormatting.show(found.id, invocation, session)
            invocation.output.note(
                "'errand destruction certificate' shows what must be destroyed elsewhere")
            return .done
        }
    }

    /// Claims the run of the destruction.
    ///
    /// The server may keep the session of a killed process for some seconds.
    private static func expectAlone(
        _ session: Session, _ found: DestructionRecord
    ) async throws {
        let end = ContinuousClock.now + .seconds(15)
        while try await !session.query("SELECT custody.claim_run($1)", [.int64(found.id)])[0]
            .bool(0)
        {
            guard ContinuousClock.now < end else {
                throw CommandFailure(
                    exit: .conflict, message: "destruction \(found.id) is running elsewhere",
                    hint: "'errand destruction status' shows it")
            }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    // MARK: status

    private static let status = Command(
        "destruction", "status", effect: .read,
        summary: "Show the last destruction, its steps, and what is to be settled before it",
        examples: [.init("errand destruction status", "the state and the steps")]
    ) { invocation in
        let session = try invocation.session()
        let found = try await CustodyFormatting.destruction(session)
        try await CustodyFormatting.show(found.id, invocation, session)
        guard ["planned", "approved"].contains(found.state) else { return .done }
        for matter in try await invocation.openMatters(session)
        where !found.accepted.contains(matter.name) {
            invocation.output.note("open: \(matter.name): \(matter.message) (\(matter.remedy))")
        }
        return .done
    }

    // MARK: certificate

    private static let file = Option<String?>.text(
        "output-file", placeholder: "FILE", help: "Write the certificate to this new file")

    private static let certificate = Command(
        "destruction", "certificate", effect: .read,
        summary: "Print the certificate of a destruction",
        discussion: """
            JSON with every table and its rows before and after, the steps, the times, both \
            operators, and what must be destroyed elsewhere. The SHA-256 on standard error is that \
            of exactly these bytes, as 'sha256sum' computes it.
            """,
        examples: [
            .init(
                "errand destruction certificate --output-file certificate.json",
                "keep it: the database goes last")
        ],
        options: [file]
    ) { invocation in
        let found = try await CustodyFormatting.destruction(try invocation.session())
        guard let text = found.certificate, let hash = found.certificateHash else {
            throw CommandFailure(
                exit: .conflict, message: "destruction \(found.id) is \(found.state)",
                hint: "'errand destruction status' shows its steps")
        }
        if let path = invocation[file] {
            do {
                try Data(text.utf8).write(to: URL(filePath: path), options: .withoutOverwriting)
            } catch {
                throw CommandFailure(
                    exit: .failed, message: "\(path) cannot be written: \(error)",
                    hint: "name a new file")
            }
        } else if invocation.output.isForPeople {
            try invocation.output.line(text.hasSuffix("\n") ? String(text.dropLast()) : text)
        } else {
            try invocation.output.show(
                Record([
                    ("destruction", .id(Int(found.id))),
                    ("sha256", .text(Hexadecimal.encode(hash))), ("certificate", .text(text)),
                ]))
        }
        invocation.output.note("SHA-256: \(Hexadecimal.encode(hash))")
        return .done
    }
}
