/// The steps of a delivery, in order.
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
    /// The answer to the final dot: the server may already have accepted the message.
    case acceptance

    /// Orders the steps by time.
    package static func < (one: SMTPStage, other: SMTPStage) -> Bool {
        one.rawValue < other.rawValue
    }
}

/// The receipt of a message that the server has accepted.
package struct SMTPReceipt: Sendable, Equatable {
    /// The answer to the final dot.
    package let reply: SMTPReply
    /// The answer to each RCPT, in the envelope's order; some may be refusals.
    package let recipients: [SMTPReply]
    /// Whether the message was sent over an already open connection.
    package let reusedConnection: Bool
}

/// A message that was not delivered, or may not have been.
package struct SMTPFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The category of the failure, which decides the sender's next step.
    package enum Cause: Sendable, Equatable {
        /// The server refused; ``SMTPFailure/reply`` is its answer.
        case refused
        /// The name did not resolve, the server was unreachable, or the connection was lost.
        case disconnected
        /// A time limit passed.
        case timedOut
        /// The server does not support the required TLS, or its certificate is not trusted.
        case insecure
        /// The sending task was cancelled before the message was sent.
        case cancelled
        /// A local problem: a setting that libcurl refuses, or a lack of memory.
        case local
    }

    /// The step that failed.
    package let stage: SMTPStage
    /// The category of the failure.
    package let cause: Cause
    /// The server's answer to the step that failed, if there was one.
    package let reply: SMTPReply?
    /// libcurl's message.
    package let explanation: String

    /// Whether the server may have accepted the message: it was sent with the final dot, but the
    /// answer was not received.
    package var isAmbiguous: Bool { stage == .acceptance && cause != .refused }

    /// The failure in one line.
    package var description: String {
        if let reply, cause == .refused { return "\(reply) (at \(stage))" }
        return "\(explanation) (at \(stage))"
    }
}
