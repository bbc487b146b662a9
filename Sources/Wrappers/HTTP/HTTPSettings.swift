/// How a client trusts, connects and limits.
package struct HTTPSettings: Sendable {
    /// Whether requests go as HTTP/2 (RFC 9113).
    package enum HTTP2: Sendable {
        /// Always; a server without it fails as ``HTTPFailure/Cause/disconnected``.
        case required
        /// Where the server offers it, HTTP/1.1 elsewhere.
        case preferred
        /// HTTP/1.1 everywhere.
        case never
    }

    /// A PEM file of authorities to trust instead of the system's.
    package var authorityFile: String?
    /// How long name lookup, TCP and TLS may take together.
    package var connectLimit: Duration
    /// Connections open at once to one host and port.
    package var connectionsPerHost: Int
    /// Requests on their way at once on one connection.
    ///
    /// No more than the server allows (SETTINGS_MAX_CONCURRENT_STREAMS): libcurl 7.88 fills each
    /// new connection before it knows that number, and what is too much is refused.
    package var streamsPerConnection: Int
    /// Bytes of an answer's body.
    package var bodyLimit: Int
    /// Whether requests go as HTTP/2.
    package var http2: HTTP2
    /// Whether addresses of private networks, this machine included, may be connected to.
    package var allowsPrivateAddresses: Bool
    /// How old a connection may get before requests go on a new one; nil for no limit.
    package var connectionLife: Duration?
    /// Whether `http://` is taken too; for servers on this machine.
    package var allowsPlainText: Bool

    /// Settings for servers on the open internet.
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
