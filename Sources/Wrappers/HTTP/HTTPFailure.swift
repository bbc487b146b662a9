import CErrandCurl

/// A request without a response.
package struct HTTPFailure: Error, Sendable, CustomStringConvertible {
    /// The category of the failure, which decides the sender's next step.
    package enum Cause: Sendable {
        /// The server's name is unknown, or the name servers do not answer.
        case resolve
        /// The server is unreachable or refuses connections.
        case connect
        /// The server does not support TLS, or its certificate is not trusted.
        case insecure
        /// The time limit of the request, or of the connect, has passed.
        case timedOut
        /// The connection or the stream was lost.
        case disconnected
        /// The name resolves to an address of a private network.
        case refusedAddress
        /// The body is longer than ``HTTPSettings/bodyLimit``.
        case tooLarge
        /// The task was cancelled, or the client was closed.
        case cancelled
        /// A local problem: the request, a setting, or a lack of memory.
        case local
    }

    /// The category of the failure.
    package let cause: Cause
    /// Whether the server may have received the request, so that a repeat may have its effect
    /// twice.
    package let isAmbiguous: Bool
    /// Further details; of the request it contains only the server's name.
    private let detail: String?

    /// Creates a failure; `detail` must not contain secrets.
    package init(cause: Cause, isAmbiguous: Bool, detail: String? = nil) {
        self.cause = cause
        self.isAmbiguous = isAmbiguous
        self.detail = detail
    }

    /// The message for logs, without secrets.
    package var description: String {
        let reason =
            switch cause {
            case .resolve: "the server's name could not be resolved"
            case .connect: "the server could not be reached"
            case .insecure: "the connection is not secure"
            case .timedOut: "the request timed out"
            case .disconnected: "the connection was lost"
            case .refusedAddress:
                "the server's name resolves to a private address, which is not allowed"
            case .tooLarge: "the response is too long"
            case .cancelled: "cancelled"
            case .local: "the request could not be sent"
            }
        let open = isAmbiguous ? "; the server may have received the request" : ""
        return reason + (detail.map { ": \($0)" } ?? "") + open
    }
}

extension HTTPFailure {
    /// Creates a failure from libcurl's code.
    ///
    /// - Parameters:
    ///   - code: the result of the transfer.
    ///   - isBegun: whether the request had a connection.
    ///   - explanation: libcurl's message; kept only if it contains no part of the request.
    init(_ code: CURLcode, isBegun: Bool, explanation: String) {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST:
            self.init(cause: .resolve, isAmbiguous: false, detail: explanation)
        case CURLE_COULDNT_CONNECT:
            self.init(cause: .connect, isAmbiguous: false, detail: explanation)
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_USE_SSL_FAILED,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_CERTPROBLEM:
            self.init(cause: .insecure, isAmbiguous: isBegun, detail: explanation)
        case CURLE_OPERATION_TIMEDOUT:
            self.init(cause: .timedOut, isAmbiguous: isBegun)
        case CURLE_OUT_OF_MEMORY, CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL,
            CURLE_BAD_FUNCTION_ARGUMENT, CURLE_FAILED_INIT, CURLE_NOT_BUILT_IN,
            CURLE_LOGIN_DENIED:
            self.init(cause: .local, isAmbiguous: isBegun, detail: Self.words(for: code))
        default:
            // The server refused each attempt unread (RFC 9113 section 8.7), until libcurl reached
            // its limit of attempts.
            let wasRefused = explanation.hasPrefix("Connection died, tried ")
            self.init(
                cause: .disconnected, isAmbiguous: isBegun && !wasRefused,
                detail: Self.words(for: code))
        }
    }

    /// libcurl's general message for a code, without data of the request.
    private static func words(for code: CURLcode) -> String {
        unsafe String(cString: curl_easy_strerror(code))
    }
}
