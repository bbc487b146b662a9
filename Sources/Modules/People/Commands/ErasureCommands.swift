import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand person erase`, `keep` and `certificate`.
enum ErasureCommands {
    static let all = [erase, keep, certificate]

    // MARK: erase

    private static let erase = Command(
        "person", "erase", effect: .write, summary: "Erase a person from all modules",
        discussion: """
            Blocks the person at once: no notice, offer, code, grant or money. Workers of the \
            queue \(ErasePerson.options.queue) then erase the person from each module and from \
            the jobs, and issue a certificate. It cannot be undone; 'errand person keep' stops \
            an erasure that has not started. Backups still hold the person: see 'errand person \
            suppress'.
            """,
        examples: [
            .init("errand person erase 42 --reason 'letter of 5 March'", "after confirmation")
        ],
        options: [PersonFormatting.reason], arguments: [PersonFormatting.id]
    ) { invocation in
        let id = invocation[PersonFormatting.id]
        let session = try invocation.session()
        guard let found = try await PersonRows(session: session).person(Int64(id)) else {
            throw PersonFormatting.unknown(id)
        }
        if found.person.state != .erased {
            try invocation.confirm("permanently erase person \(id) from all modules?")
        }
        let reason = invocation[PersonFormatting.reason]
        let rows = ErasureRows(session: session)
        let state = try await rows.request(
            Int64(id), reason: reason,
            note: PersonFormatting.line(invocation, id, reason: reason))
        // The last one, whatever its state: a worker may have begun meanwhile.
        guard state != nil, let erasure = try await rows.erasures(of: Int64(id)).last
        else { throw PersonFormatting.unknown(id) }
        var record = Record([("person", .id(id))])
        for field in PersonFormatting.record(erasure).fields where field.name != "id" {
            record.append(field.name, field.cell)
        }
        try invocation.output.show(record)
        if erasure.state == "finished" {
            invocation.output.note("'errand person certificate \(id)' shows the certificate")
        }
        return .done
    }

    // MARK: keep

    private static let keep = Command(
        "person", "keep", effect: .write, summary: "Stop an erasure that has not started",
        discussion: """
            Unblocks the person; what was withdrawn stays so. For a person who seemed to be under \
            16, correct the birth date afterwards with people.put_person. An erasure that has \
            started cannot be stopped (exit 4).
            """,
        examples: [.init("errand person keep 42 --reason 'born 1996, not 2016'", "a typing error")],
        options: [PersonFormatting.reason], arguments: [PersonFormatting.id]
    ) { invocation in
        let id = invocation[PersonFormatting.id]
        let reason = invocation[PersonFormatting.reason]
        try invocation.confirm("keep person \(id), and stop the erasure?")
        let session = try invocation.session()
        let state = try await ErasureRows(session: session).keep(
            Int64(id), actor: invocation.operatorName, reason: reason,
            note: PersonFormatting.line(invocation, id, reason: reason))
        switch state {
        case "requested":
            try invocation.output.show(Record([("person", .id(id)), ("state", .text("kept"))]))
            return .done
        case nil:
            throw CommandFailure(
                exit: .notFound, message: "no erasure of person \(id) was requested",
                hint: "'errand person ls --state blocked' lists open ones")
        case let state?:
            throw CommandFailure(
                exit: .conflict, message: "the erasure of person \(id) is \(state)",
                hint: "'errand person show \(id)' shows it")
        }
    }

    // MARK: certificate

    private static let certificate = Command(
        "person", "certificate", effect: .read,
        summary: "Print the certificate of an erasure, and verify it",
        discussion: """
            The certificate lists what was deleted, anonymized and kept, without personal data. \
            Its SHA-256 covers the printed text. Exit 1 if hash, text and counts do not agree.
            """,
        examples: [.init("errand person certificate 42", "as proof for the person")],
        arguments: [PersonFormatting.id]
    ) { invocation in
        let id = invocation[PersonFormatting.id]
        let rows = ErasureRows(session: try invocation.session())
        let certificates = try await rows.certificates(of: Int64(id))
        guard let last = certificates.last else {
            throw CommandFailure(
                exit: .notFound, message: "there is no certificate of an erasure of person \(id)",
                hint: "'errand person show \(id)' shows how far it is")
        }
        if invocation.output.isForPeople {
            try invocation.output.line(last.body + "\nSHA-256: " + last.sha256)
        } else {
            try invocation.output.show(
                Record([
                    ("person", .id(id)), ("issued_at", last.issuedAt.cell),
                    ("body", .text(last.body)), ("sha256", .text(last.sha256)),
                    ("is_intact", .flag(last.isIntact)),
                ]))
        }
        guard certificates.allSatisfy(\.isIntact) else {
            throw CommandFailure(
                exit: .failed, message: "the certificate of person \(id) was changed",
                hint: "its hash, its text and the counts of the erasure do not agree")
        }
        return .done
    }
}
