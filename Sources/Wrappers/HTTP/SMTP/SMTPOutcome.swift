/// The step of a delivery, in the order in which they come.
package enum SMTPStage: Int, Sendable, Comparable {
    /// Looking up the server's name.
    case resolve
    /// Reaching the server, up to its greeting.
    case connect
    /// The server's greeting and EHLO.
    case hello
    /// STARTTLS, or the handshake of implicit TLS.
    case encryption
    /// AUTH.
    case authentication
    /// MAIL FROM.
    case sender
    /// RCPT TO.
    case recipient
    /// DATA, and the message up to its last byte.
    case data
    /// The answer to the final dot: the server may have taken the message already.
    case acceptance

    /// Orders the steps by when they come.
    package static func < (one: SMTPStage, other: SMTPStage) -> Bool {
        one.rawValue < other.rawValue
    }
}

/// A message that the server has taken responsibility for.
package struct SMTPReceipt: Sendable, Equatable {
    /// The answer to the final dot.
    package let reply: SMTPReply
    /// The answers to each RCPT, in the envelope's order; some may be refusals.
    package let recipients: [SMTPReply]
    /// Whether a connection that was open already carried the message.
    package let reusedConnection: Bool
}

/// A message that was not delivered, or may not have been.
package struct SMTPFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// What went wrong, as far as the sender's next step depends on it.
    package enum Cause: Sendable, Equatable {
        /// The server said no; ``SMTPFailure/reply`` holds its words.
        case refused
        /// The name did not resolve, nobody listened, or the connection broke.
        case disconnected
        /// A time limit passed.
        case timedOut
        /// TLS was required and not to be had, or the certificate is not to be trusted.
        case insecure
        /// The sending task was cancelled before the message was handed over.
        case cancelled
        /// The fault is on this side: a setting that libcurl refuses, or no memory.
        case local
    }

    /// The step that failed.
    package let stage: SMTPStage
    /// What went wrong.
    package let cause: Cause
    /// The server's answer to the step that failed, if there was one.
    package let reply: SMTPReply?
    /// libcurl's words.
    package let explanation: String

    /// Whether the server may have taken the message all the same: it had every byte and the
    /// final dot, and its answer was never heard.
    package var isAmbiguous: Bool { stage == .acceptance && cause != .refused }

    /// The failure in one line.
    package var description: String {
        if let reply, cause == .refused { return "\(reply) (at \(stage))" }
        return "\(explanation) (at \(stage))"
    }
}
