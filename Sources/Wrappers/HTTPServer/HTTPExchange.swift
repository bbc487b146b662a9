/// What a client asks: the method is GET or HEAD, anything else is refused before.
package struct HTTPQuestion: Sendable, Equatable {
    /// The path of the URL, decoded, without the query.
    package var path: String
    /// The header `Accept`; empty when there is none.
    package var accept: String
}

/// What a client is told.
package struct HTTPAnswer: Sendable {
    /// The status code (RFC 9110).
    package var status: Int
    /// The media type of the body.
    package var type: String
    /// The body; left out where HEAD was asked.
    package var body: [UInt8]

    /// An answer of plain text, unless another type is given.
    package init(_ status: Int, type: String = "text/plain; charset=utf-8", _ text: String) {
        self.status = status
        self.type = type
        body = Array(text.utf8)
    }
}

/// How a question is answered.
package enum HTTPReply: Sendable {
    /// At once, on the server's own thread: also where no other thread gets a turn.
    case now(HTTPAnswer)
    /// By a task; the connection waits, and all others are served meanwhile. It should bound its
    /// own time: it is cancelled when the server stops, and waited for.
    case later(@Sendable () async -> HTTPAnswer)
}

/// Why a server could not be started.
package struct HTTPServerFailure: Error, CustomStringConvertible {
    /// What happened, with the address.
    package var description: String
    /// Whether another process listens there.
    package var isTaken = false
}
