import ErrandNotification
import FoundationEssentials
import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand coupon verify` and `redeem`: the operations of a till.
enum CouponTillCommands {
    static let all = [verify, redeem]

    private static let code = Argument.several(
        ValueFormat.text("CODE"),
        help: "The scanned or typed code, or - to read it from standard input")
    private static let establishment = Option<Int?>.integer(
        "establishment", range: 1...Int.max, placeholder: "ID",
        help: "The establishment of the till"
    ).required()
    private static let name = ValueFormat<String>.line("NAME", upTo: 100)
    private static let anyTerminal = Option<String>.value(
        "terminal", name, default: "errand",
        help: "Name of the till; wrong codes are counted per till")
    private static let terminal = Option<String?>.value(
        "terminal", name, help: "Name of the till, unique in its establishment"
    ).required()
    private static let requestID = Option<String?>.value(
        "request-id", .line("TEXT", upTo: 100),
        help: "Idempotency key: the same code and key return the same confirmation (default: a "
            + "new key)")

    private static let reading = """
        Case, blanks and hyphens are ignored. Quote a typed code: it may end in *, ~, $ or =. \
        With -, the code appears in neither the process list nor the shell history.
        """
    private static let exits = """
        Exits 2 for a malformed or mistyped code, 3 for an unknown code and 5 for a refused \
        one: rotated, of another establishment, expired, not yet valid, voided, redeemed before, \
        or too many wrong codes. Exits 1 if workers have not prepared the secrets. The JSON field \
        reason has the cause.
        """

    // MARK: verify

    private static let verify = Command(
        "coupon", "verify", effect: .write,
        summary: "Check whether a code is valid at an establishment now",
        discussion: """
            Checking does not reserve the coupon: only 'coupon redeem' prevents another \
            redemption. Wrong codes are counted; after too many, typed codes are refused for up to \
            five minutes.

            """ + reading + "\n\n" + exits,
        examples: [
            .init("errand coupon verify '4f2k-9qd3-7m1tx' --establishment 7", "typed by hand"),
            .init("zbarcam -1 --raw | errand coupon verify - --establishment 7", "scanned"),
        ],
        options: [establishment, anyTerminal], arguments: [code]
    ) { invocation in
        let code = try read(invocation)
        let till = try await till(invocation, invocation[anyTerminal])
        let answer = try await till.verify(code)
        try show(answer, requestID: nil, invocation)
        if let failure = refusal(answer, invocation) { throw failure }
        return .done
    }

    // MARK: redeem

    private static let redeem = Command(
        "coupon", "redeem", effect: .write, summary: "Redeem a coupon by its code",
        discussion: """
            A coupon is redeemed once, whatever the number of tills; its person is notified. To \
            retry a lost request, repeat it with the same code and --request-id: the till gets the \
            same confirmation. Programs should choose the id themselves.

            """ + reading + "\n\n" + exits,
        examples: [
            .init(
                "errand coupon redeem - --establishment 7 --terminal bar --request-id 2026-118",
                "reads the code from standard input; safe to repeat")
        ],
        options: [establishment, terminal, requestID, AuditOptions.reason], arguments: [code]
    ) { invocation in
        let code = try read(invocation)
        let till = try await till(invocation, invocation[terminal])
        let request = invocation[requestID] ?? UUID().uuidString.lowercased()
        if invocation[requestID] == nil, invocation.output.isForPeople {
            // Printed before the request because the response may be lost.
            invocation.output.note("request id: \(request)")
        }
        let answer = try await till.redeem(code, requestID: request) { answer in
            AuditLine(
                operatorName: invocation.operatorName, action: "coupon redeem",
                subject: "coupon \(answer.couponID ?? 0)", reason: invocation[AuditOptions.reason],
                change: try? AuditLine.json([
                    "terminal": invocation[terminal], "request_id": request,
                ]))
        }
        try show(answer, requestID: request, invocation)
        if let failure = refusal(answer, invocation) { throw failure }
        return .done
    }

    // MARK: Shared

    /// Parses the code; refuses a malformed one before any server is contacted.
    private static func read(_ invocation: Invocation) throws -> CouponCode {
        let text = try invocation.word(
            invocation[code].joined(separator: " "), asking: "scan or type the code")
        do throws(CouponCode.Refusal) { return try CouponCode(text) } catch {
            throw CommandFailure(exit: .usage, message: "\(error)", hint: error.reason.advice)
        }
    }

    private static func till(
        _ invocation: Invocation, _ terminal: String
    ) async throws -> Till {
        let id = invocation[establishment]
        let till = Till(
            session: try invocation.session(), establishment: Int64(id), terminal: terminal)
        guard try await till.isThere else { throw CouponFormatting.unknown(establishment: id) }
        return till
    }

    private static func show(
        _ answer: TillAnswer, requestID: String?, _ invocation: Invocation
    ) throws {
        let output = invocation.output
        // A refusal is printed as an error, on standard error.
        if output.isForPeople, !answer.isAccepted { return }
        var record = Record([
            ("id", .optional(answer.couponID) { .id(Int($0)) }),
            ("is_accepted", .flag(answer.isAccepted)), ("reason", .text(answer.reason.rawValue)),
            ("title", .optional(answer.title) { .text($0) }),
            ("expires_at", .optional(answer.expiresAt) { $0.cell }),
            ("redeemed_at", .optional(answer.redeemedAt) { $0.cell }),
            ("confirmation", .optional(answer.confirmation) { .text($0) }),
            ("ask_again_at", .optional(answer.askAgainAt) { $0.cell }),
        ])
        if let requestID { record.append("request_id", .text(requestID)) }
        try output.show(output.isForPeople ? NotificationFormatting.shortened(record) : record)
    }

    private static func refusal(
        _ answer: TillAnswer, _ invocation: Invocation
    ) -> CommandFailure? {
        guard !answer.isAccepted else { return nil }
        let exit: ExitCode =
            switch answer.reason {
            case .malformed, .mistyped: .usage
            case .unknown: .notFound
            case .notReady: .failed
            default: .refused
            }
        let at: (String, Instant?) =
            switch answer.reason {
            case .redeemed: (", at", answer.redeemedAt)
            case .expired: (", at", answer.expiresAt)
            case .tooManyGuesses: ("; retry at", answer.askAgainAt)
            default: ("", nil)
            }
        let words = at.1.map { "\(at.0) \(invocation.output.times.text($0.date))" } ?? ""
        let shown = answer.couponID.map { "coupon \($0): " } ?? ""
        return CommandFailure(
            exit: exit, message: shown + answer.reason.words + words, hint: answer.reason.advice)
    }
}
