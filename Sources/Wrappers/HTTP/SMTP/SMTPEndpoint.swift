/// Where a mail server listens, how it is trusted, and how long it may take.
package struct SMTPEndpoint: Sendable, Equatable {
    /// How the conversation is encrypted.
    package enum Security: Sendable, Equatable {
        /// Never; for a server on this machine.
        case none
        /// STARTTLS when the server offers it, plain text otherwise.
        case startTLSIfOffered
        /// STARTTLS, or no mail.
        case startTLS
        /// TLS from the first byte (port 465).
        case implicitTLS
    }

    /// Who logs in.
    package struct Credentials: Sendable, Equatable {
        /// The account's name.
        package let user: String
        /// The account's password; never shown.
        package let password: String

        /// Names an account.
        package init(user: String, password: String) {
            self.user = user
            self.password = password
        }
    }

    /// Host name or address, IPv6 without brackets.
    package var host: String
    /// TCP port.
    package var port: Int
    /// How the conversation is encrypted.
    package var security: Security
    /// Who logs in; nil sends without.
    package var credentials: Credentials?
    /// A PEM file of authorities to trust instead of the system's.
    package var authorityFile: String?
    /// The name said in EHLO; nil takes this machine's.
    package var helloName: String?
    /// How long name lookup, TCP and TLS may take together.
    package var connectLimit: Duration = .seconds(10)
    /// How long one message may take in all, connecting included.
    package var transferLimit: Duration = .seconds(60)

    /// Names a server, with production time limits.
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

/// Who a message is from and for, as the server is told (not what its headers say).
package struct SMTPEnvelope: Sendable, Equatable {
    /// The address that bounces go to.
    package let sender: String
    /// The addresses to deliver to; at least one.
    package let recipients: [String]

    /// Addresses a message.
    ///
    /// The addresses must be free of control characters and angle brackets.
    package init(sender: String, recipients: [String]) {
        self.sender = sender
        self.recipients = recipients
    }
}
