/// The protocol state of one delivery: from each command and reply line, it determines the current
/// step and the server's answer to it.
struct SMTPConversation {
    private(set) var stage = SMTPStage.connect
    /// The complete answer to the last command; nil until the server has sent it.
    private(set) var answer: SMTPReply?
    /// The answers to RCPT, in order.
    private(set) var recipients: [SMTPReply] = []
    private var partial: [String] = []
    private var isLeaving = false

    /// Records a command, without its arguments, which may be secret.
    mutating func sent(command: some StringProtocol) {
        let verb = command.prefix { $0.isLetter }.uppercased()
        // QUIT is not a step: it closes an older connection, or this one after a failure, and the
        // answer to the failed command is the relevant one.
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

    /// Records that the whole message was sent.
    mutating func handedOver() {
        stage = .acceptance
        answer = nil
        partial = []
    }

    /// Adds one line of a reply, with or without its line end.
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

    /// The maximum number of lines kept of one reply, so that an endless one does not fill the
    /// memory.
    private static let lineLimit = 64
}
