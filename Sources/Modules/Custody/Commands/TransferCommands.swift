import Errand
import ErrandCommand
import ErrandCrypto
import ErrandDurableFiles
import ErrandKeys
import ErrandPostgres
import ErrandTerminal
import FoundationEssentials

/// `errand transfer export`, `verify` and `import`; `ObjectionCommands` has the objections.
enum TransferCommands {
    static let all = [export, verify, importing] + ObjectionCommands.all

    private static let from = Option<String?>.text(
        "from", placeholder: "DIR", help: "The folder of the archive"
    ).required()
    private static let hash = Option<String?>.text(
        "manifest-sha256", placeholder: "HEX",
        help: "The SHA-256 of the manifest, as the export printed it; refuse any other")

    // MARK: export

    private static let to = Option<String?>.text(
        "to", placeholder: "DIR", help: "A new or empty folder for the archive"
    ).required()
    private static let recipient = Option<String?>.text(
        "recipient", placeholder: "FILE",
        help: "The recipient's certificate in PEM: RSA of 2048 bits or more, or elliptic"
    ).required()
    private static let notifiedOn = Option<String?>.value(
        "notified-on", CustodyFormatting.day,
        help: "The day on which all people had been notified, and could object"
    ).required()

    private static let export = Command(
        "transfer", "export", effect: .write,
        summary: "Export all data as of one moment, sealed to the recipient's certificate",
        discussion: """
            Writes a folder for each module, with the rows of each table in sealed files (CMS, \
            AES-256-GCM; 'openssl cms -decrypt' opens them too), and last manifest.json with the \
            number of rows and the hashes. People who object are left out, as if they had been \
            erased; this database keeps them. Stop apps and workers first, so that nothing is \
            created afterwards. Values that ERRAND_KEYS_FILE seals stay sealed: give the \
            recipient that file apart. Send the recipient the SHA-256 of the manifest by another \
            way. Exits 1 if the folder is not empty.
            """,
        examples: [
            .init(
                "errand transfer export --to /srv/archive --recipient buyer.pem "
                    + "--notified-on 2026-10-20", "asks first")
        ],
        options: [to, recipient, notifiedOn, CustodyFormatting.reason]
    ) { invocation in
        let session = try invocation.unlimitedSession()
        let certificate = try certificate(invocation[recipient])
        let modules = try await invocation.usableModules(session).all
        try await CustodyFormatting.refusing {
            try await checkNotice(invocation[notifiedOn], session)
        }
        try invocation.confirm("export all data of this database for \(certificate.subject)?")
        let folder = try emptyFolder(invocation[to])
        let export = TransferExport(
            session: session, folder: folder, recipient: certificate,
            sealingKeys: try await modules.sealingKeysInUse(session),
            exportedAt: HumanFormat.timestamp(Date()))
        let (manifest, sha256): (TransferManifest, [UInt8])
        do { (manifest, sha256) = try await export.run() } catch let error as FileError {
            throw CommandFailure(exit: .failed, message: error.description)
        }
        _ = try await session.pipeline(
            notes("export", manifest, sha256, invocation))
        try invocation.output.show(record(manifest, sha256))
        if !manifest.sealingKeys.isEmpty {
            invocation.output.note(
                "give the recipient the file of \(KeySettings.variable) apart; sealed values need "
                    + "its keys: \(manifest.sealingKeys.joined(separator: ", "))")
        }
        return .done
    }

    /// - Throws: `CommandFailure` if people were not notified early enough.
    private static func checkNotice(_ day: String, _ session: Session) async throws {
        let row = try await session.query(
            """
            SELECT $1::text::date + notice_days <= current_date AS is_early, notice_days,
                ($1::text::date + notice_days)::text AS day
            FROM custody.rules
            """, [.text(day)])[0]
        guard try !row.bool("is_early") else { return }
        throw CommandFailure(
            exit: .refused,
            message: "people were notified on \(day): the export may be made on "
                + (try row.text("day")),
            hint: "'errand destruction rules --notice-days' changes the number of days")
    }

    private static func certificate(_ path: String) throws(CommandFailure) -> Certificate {
        guard let data = try? Data(contentsOf: URL(filePath: path)), data.count <= 65_536 else {
            throw CommandFailure(
                exit: .usage, message: "--recipient: \(path) cannot be read or is too long")
        }
        do { return try Certificate(pem: String(decoding: data, as: UTF8.self)) } catch {
            throw CommandFailure(exit: .usage, message: "--recipient: \(path): \(error)")
        }
    }

    private static func emptyFolder(_ path: String) throws(CommandFailure) -> String {
        do throws(FileError) { try PrivateFolder.make(path) } catch {
            throw CommandFailure(exit: .failed, message: error.description)
        }
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? ["?"]
        guard entries.isEmpty else {
            throw CommandFailure(
                exit: .failed, message: "--to \(path): the folder is not empty",
                hint: "name a new folder; an export that was interrupted cannot be continued")
        }
        return path
    }

    private static func notes(
        _ direction: String, _ manifest: TransferManifest, _ sha256: [UInt8],
        _ invocation: Invocation
    ) -> [Statement] {
        let reason = invocation[CustodyFormatting.reason]
        return [
            Statement(
                """
                INSERT INTO custody.transfers (direction, operator, reason, manifest_sha256, tables,
                    rows, left_out)
                VALUES ($1, $2, $3, $4, $5, $6, $7)
                """,
                [
                    .text(direction), .text(invocation.operatorName), .optional(reason),
                    .bytes(sha256), .int32(Int32(manifest.tables.count)),
                    .int64(Int64(manifest.rows)), .int64(manifest.leftOut),
                ]),
            AuditLine(
                operatorName: invocation.operatorName, action: "transfer \(direction)",
                subject: manifest.recipient.subject, reason: reason,
                change: try? AuditLine.json(["manifest_sha256": Hexadecimal.encode(sha256)])
            ).statement,
        ]
    }

    private static func record(_ manifest: TransferManifest, _ sha256: [UInt8]) -> Record {
        Record([
            ("sha256", .text(Hexadecimal.encode(sha256))),
            ("recipient", .text(manifest.recipient.subject)),
            ("tables", .int(manifest.tables.count)), ("rows", .int(manifest.rows)),
            ("files", .int(manifest.files.count)),
            ("people", .int(Int(manifest.people))), ("left_out", .int(Int(manifest.leftOut))),
            ("sealing_keys", .list(manifest.sealingKeys)),
        ])
    }

    // MARK: verify

    private static let key = Option<String?>.text(
        "key", placeholder: "FILE",
        help: "The recipient's private key in PEM: also verify that the rows open")

    /// The archive of a command.
    private static func archive(_ invocation: Invocation) throws -> TransferArchive {
        let archive = try TransferArchive(folder: invocation[from])
        if let given = invocation[hash], given.lowercased() != Hexadecimal.encode(archive.sha256) {
            throw TransferError.damaged("the manifest is another one than --manifest-sha256 says")
        }
        return archive
    }

    private static func openingKey(_ path: String) throws(CommandFailure) -> OpeningKey {
        do { return try OpeningKey(pem: try SecretText.read(path)) } catch {
            throw CommandFailure(exit: .usage, message: "--key: \(path): \(error)")
        }
    }

    private static let verify = Command(
        "transfer", "verify", effect: .read, summary: "Verify an archive, without a database",
        discussion: """
            Without --key it compares the size and SHA-256 of every file with the manifest. With \
            --key it also opens every file, and compares the rows.
            """,
        examples: [
            .init("errand transfer verify --from /srv/archive", "after copying it"),
            .init("errand transfer verify --from /srv/archive --key key.pem", "all of it"),
        ],
        options: [from, key, hash]
    ) { invocation in
        try await CustodyFormatting.refusing {
            let archive = try archive(invocation)
            let key = try invocation[key].map(openingKey)
            try archive.verify(with: key)
            var record = record(archive.manifest, archive.sha256)
            record.append("verified", .text(key == nil ? "files" : "files and rows"))
            try invocation.output.show(record)
            return .done
        }
    }

    // MARK: import

    private static let neededKey = key.required()

    private static let importing = Command(
        "transfer", "import", effect: .write, summary: "Import an archive into an empty database",
        discussion: """
            Verifies the whole archive before it writes anything, and imports it in one \
            transaction. The database must have the same migrations, and no data: 'errand migrate' \
            with the version and the modules of the archive makes one. Add the keys of the former \
            owner to the file of ERRAND_KEYS_FILE, below your own, and run 'errand key rotate': \
            then values are sealed with your key alone.
            """,
        examples: [
            .init(
                "errand transfer import --from /srv/archive --key key.pem",
                "asks first")
        ],
        options: [from, neededKey, hash, CustodyFormatting.reason]
    ) { invocation in
        try await CustodyFormatting.refusing {
            let archive = try archive(invocation)
            let session = try invocation.unlimitedSession()
            let transfer = TransferImport(
                archive: archive, key: try openingKey(invocation[neededKey]), session: session)
            try await transfer.check()
            try archive.verify(with: transfer.key)
            let manifest = archive.manifest
            try invocation.confirm(
                "import \(manifest.rows) rows of \(manifest.database) into this database?")
            try await transfer.run(notes: notes("import", manifest, archive.sha256, invocation))
            try invocation.output.show(record(manifest, archive.sha256))
            let known = (try? KeySettings.keys(invocation.environment))??.names ?? []
            let missing = manifest.sealingKeys.filter { !known.contains($0) }
            if !missing.isEmpty {
                invocation.output.note(
                    "sealed values need keys that are not in the file of \(KeySettings.variable): "
                        + "\(missing.joined(separator: ", ")); add them, then 'errand key rotate'")
            }
            return .done
        }
    }
}
