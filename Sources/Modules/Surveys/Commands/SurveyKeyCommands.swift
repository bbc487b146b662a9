import ErrandCrypto
import ErrandKeys
import Errand
import ErrandCommand
import ErrandPostgres
import ErrandQRCode
import ErrandTerminal

/// `errand survey key show|rotate` and `receipt make`.
enum SurveyKeyCommands {
    static let all = [show, rotate, make]

    private static let establishment = Argument.required(
        ValueFormat.integer("ESTABLISHMENT", in: 1...Int.max), help: "The establishment's id")

    // MARK: key show

    private static let show = Command(
        "survey", "key", "show", effect: .read,
        summary: "Show the receipt keys of an establishment, newest first",
        discussion: """
            Tills sign the codes on receipts with the current key. Codes of retired keys are \
            accepted until GOOD UNTIL. OPEN shows whether PostgreSQL has the key in memory; \
            without it, receipts are refused. --reveal adds the current key in hexadecimal, for \
            the tills of the establishment: who has it can make receipts. It needs the keys of \
            \(KeySettings.variable).
            """,
        examples: [
            .init("errand survey key show 7", "when the key was made, and whether it is open"),
            .init("errand survey key show 7 --reveal --reason 'new till'", "the key itself"),
        ],
        options: RevealOptions.all, arguments: [establishment]
    ) { invocation in
        let id = invocation[establishment]
        let session = try invocation.session()
        let keys = try await ReceiptKeyRecord.list(of: Int64(id), by: session)
        guard !keys.isEmpty else { throw none(id) }
        var revealed: String?
        if try await RevealOptions.isGranted(invocation, subject: "establishment \(id)") {
            revealed = hex(try await current(id, session, invocation).key.reveal())
        }
        try invocation.output.list(
            keys.map { key in
                var record = Record([
                    ("establishment", .id(Int(key.establishmentID))),
                    ("version", .int(key.version)), ("created_at", key.createdAt.cell),
                    ("retired_at", .optional(key.retiredAt) { $0.cell }),
                    ("good_until", .optional(key.goodUntil) { $0.cell }),
                    (
                        "is_open",
                        key.isOpen ? .flag(true) : .brief(.marked("no", .red), of: .flag(false))
                    ),
                ])
                if let revealed {
                    record.append("key", key.retiredAt == nil ? .text(revealed) : .missing)
                }
                return record
            },
            columns: [
                Column("version"), Column("created_at"), Column("retired_at"),
                Column("good_until"), Column("is_open", title: "OPEN"),
            ] + (revealed == nil ? [] : [Column("key")]))
        return .done
    }

    private static func none(_ establishment: Int) -> CommandFailure {
        CommandFailure(
            exit: .notFound, message: "establishment \(establishment) has no receipt key",
            hint: "workers create it for an establishment with an open survey; now: "
                + "'errand survey key rotate \(establishment)'")
    }

    private static func current(
        _ establishment: Int, _ session: Session, _ invocation: Invocation
    ) async throws -> (version: Int, key: ReceiptKey) {
        let keys = try KeySettings.needed(invocation.environment)
        do {
            guard
                let found = try await ReceiptKeyRecord.current(
                    of: Int64(establishment), by: session, opening: keys)
            else { throw none(establishment) }
            return found
        } catch let error as CryptoError {
            throw CommandFailure(
                exit: .failed,
                message: "the receipt key of establishment \(establishment) cannot be opened: "
                    + "\(error)",
                hint: "check \(KeySettings.variable); a damaged key is replaced by "
                    + "'errand survey key rotate \(establishment)'")
        }
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    // MARK: key rotate

    private static let leaked = Option.flag(
        "leaked", help: "Refuse the codes of all earlier keys from now on; needs --reason")

    private static let rotate = Command(
        "survey", "key", "rotate", effect: .write,
        summary: "Replace the receipt key of an establishment",
        discussion: """
            Give the new key to the establishment's tills: 'errand survey key show --reveal'. \
            Codes of the key before are accepted for surveys.rules.keys_kept (30 days). With \
            --leaked they are refused at once, and so are receipts that people hold. It needs the \
            keys of \(KeySettings.variable).
            """,
        examples: [
            .init("errand survey key rotate 7 --reason 'yearly'", "asks first"),
            .init("errand survey key rotate 7 --leaked --reason 'till stolen'", "after a leak"),
        ],
        options: [leaked, AuditOptions.reason], arguments: [establishment]
    ) { invocation in
        let id = invocation[establishment]
        let hasLeaked = invocation[leaked]
        let reason = invocation[AuditOptions.reason]
        guard !hasLeaked || reason != nil else {
            throw CommandFailure(
                exit: .usage, message: "--leaked needs --reason TEXT",
                hint: "describe the leak: the audit log keeps the reason")
        }
        let pool = ReceiptKeyPool(
            sealing: try KeySettings.needed(invocation.environment), log: try invocation.log)
        try invocation.confirm(
            "replace the receipt key of establishment \(id)"
                + (hasLeaked ? " and refuse all its earlier codes?" : "?"))
        let line = AuditLine(
            operatorName: invocation.operatorName, action: invocation.command.name,
            subject: "establishment \(id)" + (hasLeaked ? ", leaked" : ""), reason: reason)
        let version = try await SurveyFormatting.refusing {
            try await invocation.pool().transaction { transaction in
                let version = try await pool.rotate(
                    Int64(id), hasLeaked: hasLeaked, in: transaction)
                if version != nil { try await transaction.pipeline([line.statement]) }
                return version
            }
        }
        guard let version else {
            throw CommandFailure(
                exit: .conflict, message: "another key was made at the same time",
                hint: "'errand survey key show \(id)' shows it")
        }
        try invocation.output.show(
            Record([
                ("establishment", .id(id)), ("version", .int(version)),
                ("result", .text(hasLeaked ? "replaced" : "rotated")),
            ]))
        return .done
    }

    // MARK: receipt make

    private static let branch = Option<Int?>.integer(
        "branch", range: 1...Int.max, placeholder: "ID", help: "The branch of the purchase"
    ).required()
    private static let number = Option<String?>.value(
        "number",
        ValueFormat("TEXT", expected: "1 to 40 of A-Z, 0-9 and dashes") { text in
            let isValid = text.utf8.allSatisfy {
                (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D
            }
            return isValid && (1...40).contains(text.utf8.count) ? text : nil
        }, help: "The till's number of the receipt, such as A-1042"
    ).required()
    private static let at = Option<Instant?>.value(
        "at", JobInputOptions.time, help: "The time of the purchase (default: now)")
    private static let qr = Option<String?>.text(
        "qr", placeholder: "FILE", help: "Also write the QR code to FILE, as a png")
    private static let scale = 8

    private static let make = Command(
        "survey", "receipt", "make", effect: .read,
        summary: "Make the code of a receipt, for tests and for vendors of tills",
        discussion: """
            Prints the text of the QR code: ER1.ESTABLISHMENT.BRANCH.NUMBER.TIME.MAC, where TIME \
            is in seconds since 1970, and MAC is the first 10 bytes of the HMAC-SHA-256 of all \
            before its dot, in capital hexadecimal digits. It gives an invitation to the first \
            person who scans it. The audit log records it. It needs the keys of \
            \(KeySettings.variable).
            """,
        examples: [
            .init("errand survey receipt make 7 --branch 3 --number A-1042", "a purchase now"),
            .init(
                "errand survey receipt make 7 --branch 3 --number TEST-1 --qr receipt.png",
                "with a picture to scan"),
        ],
        options: [branch, number, at, qr, AuditOptions.reason], arguments: [establishment]
    ) { invocation in
        let id = invocation[establishment]
        let session = try invocation.session()
        let receipt = Receipt(
            establishmentID: Int64(id), branchID: Int64(invocation[branch]),
            number: invocation[number],
            purchasedAt: Int64((invocation[at] ?? .now()).secondRoundedDown))
        let (version, key) = try await current(id, session, invocation)
        let line = AuditLine(
            operatorName: invocation.operatorName, action: invocation.command.name,
            subject: "establishment \(id), branch \(receipt.branchID), receipt \(receipt.number)",
            reason: invocation[AuditOptions.reason])
        _ = try await session.pipeline([line.statement])
        let code = receipt.text(signedWith: key)
        if let path = invocation[qr] {
            try TextFile.replace(path, with: try symbol(code).png(scale: scale), isSecret: true)
        }
        try invocation.output.show(
            Record([
                ("establishment", .id(id)), ("branch", .id(invocation[branch])),
                ("receipt", .text(receipt.number)),
                ("purchased_at", Instant(unixSeconds: Int(receipt.purchasedAt)).cell),
                ("version", .int(version)), ("code", .text(code)),
                ("file", .optional(invocation[qr]) { .text($0) }),
            ]))
        return .done
    }

    /// The smallest symbol that holds the code.
    private static func symbol(_ code: String) throws(QRCodeError) -> QRSymbol {
        do throws(QRCodeError) {
            return try QRSymbol(code)
        } catch .tooLong(_, _, _, fits: let version?) {
            return try QRSymbol(code, version: version)
        }
    }
}
