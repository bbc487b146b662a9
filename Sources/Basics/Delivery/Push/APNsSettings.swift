import ErrandCrypto

/// The settings of one team's account with APNs.
package struct APNsSettings: Sendable, CustomStringConvertible {
    /// Signs the team's tokens; its description hides the key.
    let signer: TokenSigner
    let keyID: String
    let teamID: String
    /// Replaces Apple's two hosts.
    let override: String?
    let authorityFile: String?

    /// The timeout of one request.
    package var requestLimit = Duration.seconds(30)
    /// The maximum number of connections per host; APNs limits the concurrent notices on each.
    package var connections = 2

    /// Reads the key.
    ///
    /// - Parameters:
    ///   - keyFile: the `.p8` file from Apple's developer site.
    ///   - keyID: the key's identifier, 10 characters.
    ///   - teamID: the team's identifier, 10 characters.
    ///   - url: a replacement for Apple's hosts, for tests: `https://host:port`.
    ///   - authorityFile: PEM authorities to trust instead of the system's.
    package init(
        keyFile: String, keyID: String, teamID: String, url: String? = nil,
        authorityFile: String? = nil
    ) throws(DeliverySettingsError) {
        self.keyID = try Self.identifier(keyID, setting: "APNs key id")
        self.teamID = try Self.identifier(teamID, setting: "APNs team id")
        let pem = try DeliverySettingsError.text(of: keyFile, for: "APNs key file")
        do {
            signer = try TokenSigner(.es256, pem: pem)
        } catch {
            throw .malformed(file: keyFile, expected: "the .p8 key of APNs (\(error))")
        }
        var override: String?
        if let url { override = try DeliverySettingsError.base(url, setting: "APNs URL") }
        self.override = override
        self.authorityFile = authorityFile
    }

    private static func identifier(
        _ text: String, setting: String
    ) throws(DeliverySettingsError) -> String {
        let isPlain = text.utf8.allSatisfy {
            (0x30...0x39).contains($0) || (0x41...0x5A).contains($0)
        }
        guard text.utf8.count == 10, isPlain else {
            throw .badValue(text, setting: setting, expected: "10 capital letters and digits")
        }
        return text
    }

    func base(for environment: PushMessage.Environment) -> String {
        override
            ?? (environment == .production
                ? "https://api.push.apple.com" : "https://api.sandbox.push.apple.com")
    }

    /// The account and the host; the key stays hidden.
    package var description: String {
        "APNs team \(teamID), key \(keyID), \(override ?? "Apple's hosts")"
    }
}
