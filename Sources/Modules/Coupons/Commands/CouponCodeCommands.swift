import ErrandKeys
import Glibc
import Errand
import ErrandCommand
import ErrandPostgres
import ErrandQRCode
import ErrandTerminal

/// `errand coupon code` and `qr`.
enum CouponCodeCommands {
    static let all = [code, qr]

    /// The image format of a QR code.
    private enum Format: String, CaseIterable, Sendable {
        case png, svg, terminal
    }

    private static let secrecy = """
        A code is a bearer secret: anyone who has it can redeem the coupon until it rotates. The \
        audit log records each view. No other command shows codes.
        """

    // MARK: code

    private static let code = Command(
        "coupon", "code", effect: .read,
        summary: "Show the current codes of a coupon and when each rotates",
        discussion: secrecy + """


            payload is the text of the QR code; typed is the code for tills that cannot scan. \
            Tills accept a code for a grace period after it rotates.
            """,
        examples: [.init("errand coupon code 4711 --reason 'ticket 88'", "the codes in the app")],
        options: [AuditOptions.reason], arguments: [CouponFormatting.id]
    ) { invocation in
        let codes = try await codes(invocation)
        try invocation.output.show(
            Record([
                ("id", .id(invocation[CouponFormatting.id])), ("payload", .text(codes.payload)),
                ("payload_until", .optional(codes.payloadUntil) { $0.cell }),
                ("typed", .text(codes.typed)),
                ("typed_until", .optional(codes.typedUntil) { $0.cell }),
            ]))
        return .done
    }

    /// Returns the codes, and records the view in the audit log.
    private static func codes(_ invocation: Invocation) async throws -> ShownCodes {
        let id = invocation[CouponFormatting.id]
        let session = try invocation.session()
        let note = AuditLine(
            operatorName: invocation.operatorName, action: invocation.command.name,
            subject: "coupon \(id)", reason: invocation[AuditOptions.reason])
        switch try await ShownCodes.read(Int64(id), by: session, note: note) {
        case .codes(let codes): return codes
        case .unknown: throw CouponFormatting.unknown(id)
        case .none(let state):
            let words = state.rawValue.replacing("_", with: " ")
            throw CommandFailure(
                exit: .refused, message: "coupon \(id) is \(words) and has no code",
                hint: "'errand coupon show \(id)' shows the details")
        case .notReady:
            throw CommandFailure(
                exit: .failed, message: "the code secrets are not ready",
                hint: "'errand doctor' shows whether a worker creates them; the worker needs "
                    + "\(KeySettings.variable) and the queue \(RotateCodes.options.queue)")
        }
    }

    // MARK: qr

    private static let format = Option<Format?>.value(
        "format", .choice(of: Format.self),
        help: "Image format (default: the extension of --output-file; otherwise terminal on a "
            + "terminal, png elsewhere)")
    private static let scale = Option<Int?>.integer(
        "scale", range: 1...QRSymbol.largestScale,
        help: "Pixels per module of a png (default: 8)")
    private static let usualScale = 8
    private static let invert = Option.flag(
        "invert", help: "Invert the code on a monochrome terminal with a light background")
    private static let file = Option<String?>.text(
        "output-file", placeholder: "FILE",
        help: "Write the image to FILE, for its owner only, and print when the code rotates")

    private static let qr = Command(
        "coupon", "qr", effect: .read, summary: "Draw the current QR code of a coupon",
        discussion: secrecy + """


            The image is invalid soon after the code rotates. Apps draw their own from \
            coupons.code().
            """,
        examples: [
            .init("errand coupon qr 4711", "on the terminal, for a till's scanner"),
            .init("errand coupon qr 4711 --format svg --output-file code.svg", "for a browser"),
        ],
        options: [format, scale, invert, file, AuditOptions.reason],
        arguments: [CouponFormatting.id]
    ) { invocation in
        let format = try chosenFormat(invocation)
        let codes = try await codes(invocation)
        let bytes = try picture(codes.payload, format, invocation)
        let until = codes.payloadUntil.map {
            "the code rotates at \(invocation.output.times.text($0.date))"
        }
        guard let path = invocation[file] else {
            try invocation.output.screen.write(bytes)
            invocation.output.note(until ?? "the next rotation is not scheduled")
            return .done
        }
        try TextFile.replace(path, with: bytes, isSecret: true)
        try invocation.output.show(
            Record([
                ("id", .id(invocation[CouponFormatting.id])), ("file", .text(path)),
                ("format", .text(format.rawValue)),
                ("payload_until", .optional(codes.payloadUntil) { $0.cell }),
            ]))
        return .done
    }

    private static func chosenFormat(
        _ invocation: Invocation
    ) throws(CommandFailure) -> Format {
        let output = invocation.output
        let path = invocation[file]
        let isShown = path == nil && output.screen.outputIsTerminal
        let formatOfPath = path.flatMap { path in
            Format.allCases.first { path.lowercased().hasSuffix(".\($0.rawValue)") }
        }
        let format = invocation[format] ?? formatOfPath ?? (isShown ? .terminal : .png)
        func refuse(_ message: String, _ hint: String) -> CommandFailure {
            CommandFailure(exit: .usage, message: message, hint: hint)
        }
        if format == .png, isShown {
            throw refuse(
                "a png cannot be shown on a terminal",
                "use --output-file FILE, or --format terminal")
        }
        if path == nil, !output.isForPeople {
            throw refuse(
                "an image cannot be printed as \(output.format.rawValue)",
                "use --output-file FILE, or 'errand coupon code' for the text of the code")
        }
        if invocation[scale] != nil, format != .png {
            throw refuse(
                "--scale requires --format png", "leave it out: an svg scales to any size")
        }
        if invocation[invert], format != .terminal {
            throw refuse("--invert requires --format terminal", "leave it out")
        }
        return format
    }

    private static func picture(
        _ payload: String, _ format: Format, _ invocation: Invocation
    ) throws(QRCodeError) -> [UInt8] {
        let symbol = try QRSymbol(payload)
        switch format {
        case .png: return try symbol.png(scale: invocation[scale] ?? usualScale)
        case .svg: return Array(symbol.svg().utf8)
        case .terminal:
            let isColored = invocation.output.paint.isColored && invocation[file] == nil
            return Array(
                symbol.terminalText(isColored: isColored, inverted: invocation[invert]).utf8)
        }
    }
}
