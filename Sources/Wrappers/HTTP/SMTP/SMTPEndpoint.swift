/// A mail server: its address, encryption and time limits.
package struct SMTPEndpoint: Sendable, Equatable {
    /// The encryption of the connection.
    package enum Security: Sendable, Equatable {
        /// None; for a server on this machine.
        case none
        /// STARTTLS if the server offers it, otherwise plain text.
        case startTLSIfOffered
        /// STARTTLS is required.
        case startTLS
        /// TLS from the first byte (port 465).
        case implicitTLS
    }

    /// The account for the login.
    package struct Credentials: Sendable, Equatable {
        /// The account's name.
        package let user: String
        /// The account's password; never shown.
        package let password: String

        /// Creates credentials.
        package init(user: String, password: String) {
            self.user = user
            self.password = password
        }
    }

    /// The host name or address, IPv6 without brackets.
    package var host: String
    /// The TCP port.
    package var port: Int
    /// The encryption of the connection.
    package var security: Security
    /// The account; nil sends without a login.
    package var credentials: Credentials?
    /// A PEM file of certificate authorities to trust instead of the system's.
    package var authorityFile: String?
    /// The name in EHLO; nil for this machine's.
    package var helloName: String?
    /// The time limit of name lookup, TCP and TLS together.
    package var connectLimit: Duration = .seconds(10)
    /// The time limit of one message, including the connect.
    package var transferLimit: Duration = .seconds(60)

    /// Creates a server with production time limits.
    package init(
        host: String, port: Int, security: Security, credentials: Credentials? = nil,
        authorityFile: String? = nil, helloName: String? = nil
    ) {
        self.host = host
        self.port = port
        self.security = security
        self.credentials = credentials
        self.authorityFile = authorityFile
        self.helloName = helloName
    }

    var url: String {
        let scheme = security == .implicitTLS ? "smtps" : "smtp"
        let address = host.contains(":") ? "[\(host)]" : host
        return "\(scheme)://\(address):\(port)/\(helloName ?? "")"
    }
}

/// The envelope of a message: the sender and recipients of the SMTP commands, not of its headers.
package struct SMTPEnvelope: Sendable, Equatable {
    /// The address for bounces.
    package let sender: String
    /// The addresses to deliver to; at least one.
    package let recipients: [String]

    /// Creates an envelope.
    ///
    /// The addresses must not contain control characters or angle brackets.
    package init(sender: String, recipients: [String]) {
        self.sender = sender
        self.recipients = recipients
    }
}
