import ErrandCrypto
import FoundationEssentials

/// The settings of one Firebase project and its service account.
package struct FCMSettings: Sendable, CustomStringConvertible {
    /// Signs the account's assertions; its description hides the key.
    let signer: TokenSigner
    let keyID: String
    let account: String
    let project: String
    let tokenURL: String
    let base: String
    let authorityFile: String?

    /// The timeout of one request, for a notice or an access token.
    package var requestLimit = Duration.seconds(30)
    /// The maximum number of connections; FCM limits the concurrent notices on each.
    package var connections = 2

    private struct Account: Decodable {
        let type: String
        let project_id: String
        let private_key_id: String
        let private_key: String
        let client_email: String
        let token_uri: String
    }

    /// Reads the account.
    ///
    /// - Parameters:
    ///   - accountFile: the JSON file of a service account from the Firebase console.
    ///   - url: a replacement for Google's host, for tests: `https://host:port`.
    ///   - tokenURL: a replacement for the file's `token_uri`.
    ///   - authorityFile: PEM authorities to trust instead of the system's.
    package init(
        accountFile: String, url: String? = nil, tokenURL: String? = nil,
        authorityFile: String? = nil
    ) throws(DeliverySettingsError) {
        let text = try DeliverySettingsError.text(of: accountFile, for: "FCM account file")
        guard let account = try? JSONDecoder().decode(Account.self, from: Data(text.utf8)),
            account.type == "service_account", Self.isName(account.project_id),
            account.client_email.isOneLine
        else {
            throw .malformed(
                file: accountFile, expected: "the JSON file of a Firebase service account")
        }
        do {
            signer = try TokenSigner(.rs256, pem: account.private_key)
        } catch {
            throw .malformed(file: accountFile, expected: "an RSA private_key (\(error))")
        }
        keyID = account.private_key_id
        self.account = account.client_email
        project = account.project_id
        self.tokenURL = try DeliverySettingsError.base(
            tokenURL ?? account.token_uri, setting: "FCM token URL")
        base = try DeliverySettingsError.base(
            url ?? "https://fcm.googleapis.com", setting: "FCM URL")
        self.authorityFile = authorityFile
    }

    /// Returns whether a project id is valid: lowercase letters, digits and hyphens; older ones
    /// also have `domain:`.
    private static func isName(_ project: String) -> Bool {
        !project.isEmpty
            && project.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) || "-.:".utf8.contains($0)
            }
    }

    /// The project and the host; the key stays hidden.
    package var description: String { "FCM project \(project), key \(keyID), \(base)" }
}
