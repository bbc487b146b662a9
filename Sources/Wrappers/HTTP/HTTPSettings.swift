/// The settings of an HTTP client.
package struct HTTPSettings: Sendable {
    /// The use of HTTP/2 (RFC 9113).
    package enum HTTP2: Sendable {
        /// Always; a server without it fails with ``HTTPFailure/Cause/disconnected``.
        case required
        /// If the server offers it; otherwise HTTP/1.1.
        case preferred
        /// Never: always HTTP/1.1.
        case never
    }

    /// A PEM file of certificate authorities to trust instead of the system's.
    package var authorityFile: String?
    /// The time limit of name lookup, TCP and TLS together.
    package var connectLimit: Duration
    /// The maximum number of open connections to one host and port.
    package var connectionsPerHost: Int
    /// The maximum number of requests in flight on one connection.
    ///
    /// It should not exceed the server's limit (SETTINGS_MAX_CONCURRENT_STREAMS): libcurl 7.88
    /// fills each new connection before it knows that limit, and the server refuses the excess.
    package var streamsPerConnection: Int
    /// The maximum number of bytes of a response body.
    package var bodyLimit: Int
    /// The use of HTTP/2.
    package var http2: HTTP2
    /// Whether requests may go to addresses of private networks, including this machine.
    package var allowsPrivateAddresses: Bool
    /// The maximum age of a connection for new requests; nil for no limit.
    package var connectionLife: Duration?
    /// Whether `http://` is allowed, for servers on this machine.
    package var allowsPlainText: Bool

    /// Creates settings for servers on the public internet.
    package init(
        authorityFile: String? = nil, connectLimit: Duration = .seconds(10),
        connectionsPerHost: Int = 4, streamsPerConnection: Int = 100, bodyLimit: Int = 1 << 20,
        http2: HTTP2 = .preferred, allowsPrivateAddresses: Bool = false,
        connectionLife: Duration? = nil, allowsPlainText: Bool = false
    ) {
        self.authorityFile = authorityFile
        self.connectLimit = connectLimit
        self.connectionsPerHost = connectionsPerHost
        self.streamsPerConnection = streamsPerConnection
        self.bodyLimit = bodyLimit
        self.http2 = http2
        self.allowsPrivateAddresses = allowsPrivateAddresses
        self.connectionLife = connectionLife
        self.allowsPlainText = allowsPlainText
    }
}
