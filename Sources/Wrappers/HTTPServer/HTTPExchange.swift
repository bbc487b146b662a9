/// A request: the method is GET or HEAD, because the server refuses others.
package struct HTTPServerRequest: Sendable, Equatable {
    /// The path of the URL, decoded, without the query.
    package var path: String
    /// The header `Accept`; empty if there is none.
    package var accept: String
}

/// A response.
package struct HTTPServerResponse: Sendable {
    /// The status code (RFC 9110).
    package var status: Int
    /// The media type of the body.
    package var type: String
    /// The body; not sent for HEAD.
    package var body: [UInt8]

    /// Creates a response, of plain text unless another type is given.
    package init(_ status: Int, type: String = "text/plain; charset=utf-8", _ text: String) {
        self.status = status
        self.type = type
        body = Array(text.utf8)
    }
}

/// The way in which a request is answered.
package enum HTTPServerReply: Sendable {
    /// At once, on the server's own thread, even if all other threads are busy.
    case now(HTTPServerResponse)
    /// By a task; the connection waits while others are served. The task should limit its own time:
    /// when the server stops, it cancels the task and waits for it.
    case later(@Sendable () async -> HTTPServerResponse)
}

/// Why a server did not start.
package struct HTTPServerFailure: Error, CustomStringConvertible {
    /// The message, with the address.
    package var description: String
    /// Whether another process listens there.
    package var isTaken = false
}
