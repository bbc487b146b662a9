import CErrandCurl

/// A request that got no answer.
package struct HTTPFailure: Error, Sendable, CustomStringConvertible {
    /// What went wrong, as far as the sender's next step depends on it.
    package enum Cause: Sendable {
        /// The server's name is not known, or the name servers do not answer.
        case resolve
        /// Nobody listens, or the way there is closed.
        case connect
        /// TLS was not to be had, or the certificate is not to be trusted.
        case insecure
        /// The request's time, or the time for connecting, was over.
        case timedOut
        /// The connection or the stream broke.
        case disconnected
        /// The name leads to an address inside a private network.
        case refusedAddress
        /// The answer was longer than ``HTTPSettings/bodyLimit``.
        case tooLarge
        /// The task was cancelled, or the client closed.
        case cancelled
        /// The fault is on this side: the request, a setting, or no memory.
        case local
    }

    /// What went wrong.
    package let cause: Cause
    /// Whether the request may have reached the server: a repeat may do its work twice.
    package let isAmbiguous: Bool
    /// More about it; never anything of the request but the server's name.
    private let detail: String?

    /// Describes a failure; `detail` must hold nothing secret.
    package init(cause: Cause, isAmbiguous: Bool, detail: String? = nil) {
        self.cause = cause
        self.isAmbiguous = isAmbiguous
        self.detail = detail
    }

    /// What went wrong, in words for a log; nothing secret is in it.
    package var description: String {
        let reason =
            switch cause {
            case .resolve: "the server's name could not be resolved"
            case .connect: "the server could not be reached"
            case .insecure: "the connection is not secure"
            case .timedOut: "no answer in time"
            case .disconnected: "the connection broke"
            case .refusedAddress:
                "the server's name leads to a private address, which is not allowed"
            case .tooLarge: "the answer is too long"
            case .cancelled: "cancelled"
            case .local: "the request could not be made"
            }
        let open = isAmbiguous ? "; the server may have had the request" : ""
        return reason + (detail.map { ": \($0)" } ?? "") + open
    }
}

extension HTTPFailure {
    /// What libcurl's code means.
    ///
    /// - Parameters:
    ///   - code: how the transfer ended.
    ///   - isBegun: whether the request had a connection to travel on.
    ///   - explanation: libcurl's own words; kept only where they hold no part of the request.
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
            // Each of the attempts was refused unread (RFC 9113 section 8.7), and it was only
            // their number that was too much.
            let wasRefused = explanation.hasPrefix("Connection died, tried ")
            self.init(
                cause: .disconnected, isAmbiguous: isBegun && !wasRefused,
                detail: Self.words(for: code))
        }
    }

    /// The general words for a code, free of anything of the request's.
    private static func words(for code: CURLcode) -> String {
        unsafe String(cString: curl_easy_strerror(code))
    }
}
