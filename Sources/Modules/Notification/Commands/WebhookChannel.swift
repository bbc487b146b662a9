import ErrandKeys
import ErrandCommand
import ErrandCrypto
import ErrandDelivery
import ErrandTerminal

/// The way by which events leave this process, as its environment sets it up; nil without keys.
struct WebhookChannel {
    let keys: SealingKeys
    private let settings: WebhookSettings

    private static let openness = "ERRAND_WEBHOOKS_PRIVATE"

    /// Reads the environment, and the files that it names.
    ///
    /// - Throws: `CommandFailure` (usage) that names the variable or file and what was expected.
    init?(_ environment: [String: String]) throws(CommandFailure) {
        let settings = try Self.settings(environment)
        guard let keys = try KeySettings.keys(environment) else { return nil }
        self.settings = settings
        self.keys = keys
    }

    /// Where endpoints may lie, and whom to trust.
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
                hint: "allow lets webhooks into your own network, without TLS too; only where "
                    + "every endpoint is yours")
        }
        return settings
    }

    /// The channel itself.
    func webhooks() -> Webhooks { Webhooks(WebhookClient(settings), keys: keys) }

    /// What is set up, in words.
    var words: String {
        "sealed by key \(keys.names[0])"
            + (settings.allowsPrivateAddresses ? ", private addresses allowed" : "")
            + (settings.authorityFile == nil ? "" : ", trusting ERRAND_WEBHOOKS_CA alone")
    }
}
