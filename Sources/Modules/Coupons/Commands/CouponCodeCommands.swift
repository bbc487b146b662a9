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

    /// A picture that a QR code is drawn as.
    private enum Format: String, CaseIterable, Sendable {
        case png, svg, terminal
    }

    private static let secrecy = """
        Whoever has a code can redeem the coupon until it turns: that somebody saw it is in the \
        audit, and no other command shows it.
        """

    // MARK: code

    private static let code = Command(
        "coupon", "code", effect: .looks,
        summary: "Show the codes of a coupon, and until when each is the present one",
        discussion: secrecy + """


            payload is the text of the QR code, typed is for tills that cannot scan. Each is taken \
            for a while after it has turned.
            """,
        examples: [.init("errand coupon code 4711 --reason 'ticket 88'", "as the app shows them")],
        options: [AuditOptions.reason], arguments: [CouponWords.id]
    ) { invocation in
        let codes = try await codes(invocation)
        try invocation.output.show(
            Record([
                ("id", .id(invocation[CouponWords.id])), ("payload", .text(codes.payload)),
                ("payload_until", .optional(codes.payloadUntil) { $0.cell }),
                ("typed", .text(codes.typed)),
                ("typed_until", .optional(codes.typedUntil) { $0.cell }),
            ]))
        return .done
    }

    /// The codes, after it was recorded that they are shown.
    private static func codes(_ invocation: Invocation) async throws -> ShownCodes {
        let id = invocation[CouponWords.id]
        let session = try invocation.session()
        let note = AuditLine(
            operatorName: invocation.operatorName, action: invocation.command.name,
            subject: "coupon \(id)", reason: invocation[AuditOptions.reason])
        switch try await ShownCodes.read(Int64(id), by: session, note: note) {
        case .codes(let codes): return codes
        case .unknown: throw CouponWords.unknown(id)
        case .none(let state):
            let words = state.rawValue.replacing("_", with: " ")
            throw CommandFailure(
                exit: .refused, message: "coupon \(id) is \(words), and has no code",
                hint: "'errand coupon show \(id)' tells more")
        case .notReady:
            throw CommandFailure(
                exit: .failed, message: "the secrets of codes are not ready",
                hint: "'errand doctor' tells whether a worker makes them; it needs "
                    + "\(KeySettings.variable) and the queue \(RotateCodes.options.queue)")
        }
    }

    // MARK: qr

    private static let format = Option<Format?>.value(
        "format", .choice(of: Format.self),
        help: "Which picture (default: terminal on a terminal and png elsewhere, or as the name "
            + "of --output-file ends)")
    private static let scale = Option<Int?>.integer(
        "scale", range: 1...QRSymbol.largestScale,
        help: "Pixels on the side of a module of a png "
            + "(default: 8)")
    private static let usualScale = 8
    private static let invert = Option.flag(
        "invert", help: "Of a terminal without colours: for dark text on a light ground")
    private static let file = Option<String?>.text(
        "output-file", placeholder: "FILE",
        help: "Write the picture there, for its owner alone, and print when the code turns")

    private static let qr = Command(
        "coupon", "qr", effect: .looks, summary: "Draw the present QR code of a coupon",
        discussion: secrecy + """


            The picture is worthless soon after the code has turned: apps draw their own, from \
            coupons.code().
            """,
        examples: [
            .init("errand coupon qr 4711", "on the terminal, for a till's scanner"),
            .init("errand coupon qr 4711 --format svg --output-file code.svg", "for a browser"),
        ],
        options: [format, scale, invert, file, AuditOptions.reason], arguments: [CouponWords.id]
    ) { invocation in
        let format = try chosenFormat(invocation)
        let codes = try await codes(invocation)
        let bytes = try picture(codes.payload, format, invocation)
        let until = codes.payloadUntil.map {
            "it turns at \(invocation.output.times.text($0.date))"
        }
        guard let path = invocation[file] else {
            try invocation.output.screen.write(bytes)
            invocation.output.note(until ?? "when it turns is not known")
            return .done
        }
        try TextFile.replace(path, with: bytes, isSecret: true)
        try invocation.output.show(
            Record([
                ("id", .id(invocation[CouponWords.id])), ("file", .text(path)),
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
        let ending = path.flatMap { path in
            Format.allCases.first { path.lowercased().hasSuffix(".\($0.rawValue)") }
        }
        let format = invocation[format] ?? ending ?? (isShown ? .terminal : .png)
        func refuse(_ message: String, _ hint: String) -> CommandFailure {
            CommandFailure(exit: .usage, message: message, hint: hint)
        }
        if format == .png, isShown {
            throw refuse(
                "a png is nothing for a terminal",
                "--output-file FILE writes it to a file; --format terminal draws it here")
        }
        if path == nil, !output.isForPeople {
            throw refuse(
                "a picture is printed as it is, not as \(output.format.rawValue)",
                "with --output-file FILE it is told so when it turns; 'errand coupon code' "
                    + "prints the code itself")
        }
        if invocation[scale] != nil, format != .png {
            throw refuse("--scale goes with --format png", "an svg fills the place that it gets")
        }
        if invocation[invert], format != .terminal {
            throw refuse("--invert goes with --format terminal", "leave it out")
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
