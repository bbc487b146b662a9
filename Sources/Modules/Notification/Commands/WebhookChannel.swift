import ErrandKeys
import ErrandCommand
import ErrandCrypto
import ErrandDelivery
import ErrandTerminal

/// The webhook channel that the environment sets up; nil without keys.
struct WebhookChannel {
    let keys: SealingKeys
    private let settings: WebhookSettings

    private static let openness = "ERRAND_WEBHOOKS_PRIVATE"

    /// Reads the environment and the files that it names.
    ///
    /// - Throws: `CommandFailure` (usage) that names the variable or file and the expected value.
    init?(_ environment: [String: String]) throws(CommandFailure) {
        let settings = try Self.settings(environment)
        guard let keys = try KeySettings.keys(environment) else { return nil }
        self.settings = settings
        self.keys = keys
    }

    /// Returns the permitted networks of endpoints and the trusted authorities.
    static func settings(
        _ environment: [String: String]
    ) throws(CommandFailure) -> WebhookSettings {
        let variables = Variables(all: environment)
        var settings = WebhookSettings()
        settings.authorityFile = try variables.authorities("ERRAND_WEBHOOKS_CA")
        switch variables[openness] {
        case nil: break
        case "allow": settings.allowsPrivateAddresses = true
        case .some:
            throw CommandFailure(
                exit: .usage, message: "\(openness): expected allow, or nothing",
                hint: "allow permits endpoints in private networks, also without TLS; use it only "
                    + "if every endpoint is yours")
        }
        return settings
    }

    /// Returns the sender of webhooks.
    func webhooks() -> Webhooks { Webhooks(WebhookClient(settings), keys: keys) }

    /// A description of the settings.
    var words: String {
        "sealed by key \(keys.names[0])"
            + (settings.allowsPrivateAddresses ? ", private addresses allowed" : "")
            + (settings.authorityFile == nil ? "" : ", trusting only ERRAND_WEBHOOKS_CA")
    }
}
