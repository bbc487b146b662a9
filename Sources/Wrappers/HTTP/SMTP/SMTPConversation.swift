/// What was said so far in one delivery: fed with each command and each reply line, it knows the
/// step the delivery is at and the server's answer to it.
struct SMTPConversation {
    private(set) var stage = SMTPStage.connect
    /// The complete answer to what was said last; nil while the server has not given it.
    private(set) var answer: SMTPReply?
    /// The answers to RCPT, in order.
    private(set) var recipients: [SMTPReply] = []
    private var partial: [String] = []
    private var isLeaving = false

    /// Takes note of a command; its arguments may be secret and are not kept.
    mutating func sent(command: some StringProtocol) {
        let verb = command.prefix { $0.isLetter }.uppercased()
        // A farewell is no step: it closes an older connection, or this one after its failure,
        // whose answer is the one that counts.
        isLeaving = verb == "QUIT"
        if isLeaving { return }
        answer = nil
        partial = []
        switch verb {
        case "EHLO", "HELO": stage = .hello
        case "STARTTLS": stage = .encryption
        case "AUTH": stage = .authentication
        case "MAIL": stage = .sender
        case "RCPT": stage = .recipient
        case "DATA": stage = .data
        default: break
        }
    }

    /// Takes note that the whole message has left for the server.
    mutating func handedOver() {
        stage = .acceptance
        answer = nil
        partial = []
    }

    /// Takes one line of a reply, with or without its line end.
    mutating func received(line: String) {
        var text = line[...]
        while text.last?.isNewline == true { text.removeLast() }
        partial.append(String(text))
        let isContinued = text.utf8.count > 3 && Array(text.utf8)[3] == UInt8(ascii: "-")
        if isContinued && partial.count < Self.lineLimit { return }
        defer { partial = [] }
        guard let reply = SMTPReply(lines: partial) else { return }
        guard !isLeaving else {
            isLeaving = false
            return
        }
        answer = reply
        if stage == .recipient { recipients.append(reply) }
    }

    /// The answer, if it is a refusal.
    var refusal: SMTPReply? {
        answer.flatMap { $0.isTransient || $0.isPermanent ? $0 : nil }
    }

    /// Lines kept of one reply; a server that never ends its reply must not fill the memory.
    private static let lineLimit = 64
}
