import ErrandDelivery
import FoundationEssentials
import Errand
import ErrandCommand
import ErrandTerminal

/// The delivery channels that the environment sets up.
///
/// Each is set up completely or not at all. Errors name a variable but never show its value: it
/// may be a misplaced key.
struct ChannelSettings {
    private struct Mail {
        var server: SMTPSettings
        var from: Mailbox
        var unsubscribePage: UnsubscribePage?
    }

    private let mail: Mail?
    private let apns: APNsSettings?
    private let fcm: FCMSettings?
    /// Messages per second, by provider; no limit if absent.
    private let rates: [String: Double]

    /// Reads the environment and the files that it names.
    ///
    /// - Throws: `CommandFailure` (usage) that names the variable or file and the expected value.
    init(_ environment: [String: String]) throws {
        let variables = Variables(
            all: try SecretFile.resolved(["ERRAND_SMTP_URL"], in: environment))
        mail = try Self.mail(variables)
        apns = try Self.apns(variables)
        fcm = try Self.fcm(variables)
        rates = try [
            Provider.mail: "ERRAND_MAIL_RATE", Provider.apns: "ERRAND_APNS_RATE",
            Provider.fcm: "ERRAND_FCM_RATE",
        ].compactMapValues { try variables.rate($0) }
    }

    /// The channels, each behind its own gate; `log` receives the changes of their circuits.
    func channels(_ log: Log) -> [String: any Channel] {
        var channels: [String: any Channel] = [:]
        if let mail {
            let channel = EmailChannel(mailer: SMTPMailer(mail.server), from: mail.from)
            channels[Provider.mail] = GatedChannel(channel, through: gate(Provider.mail, nil, log))
        }
        if let apns {
            channels[Provider.apns] = GatedChannel(
                PushChannel(APNsClient(apns)), through: gate(Provider.apns, LossDetector(), log))
        }
        if let fcm {
            channels[Provider.fcm] = GatedChannel(
                PushChannel(FCMClient(fcm)), through: gate(Provider.fcm, LossDetector(), log))
        }
        return channels
    }

    /// Returns the variables that set up a provider.
    static func needed(for provider: String) -> String {
        switch provider {
        case Provider.mail: "ERRAND_SMTP_URL and ERRAND_MAIL_FROM"
        case Provider.apns: "ERRAND_APNS_KEY_FILE, ERRAND_APNS_KEY_ID and ERRAND_APNS_TEAM_ID"
        default: "ERRAND_FCM_ACCOUNT_FILE"
        }
    }

    /// The page on which people unsubscribe from mail.
    var unsubscribePage: UnsubscribePage? { mail?.unsubscribePage }

    /// Whether promotional mail has no unsubscribe link.
    var lacksUnsubscribePage: Bool { mail != nil && unsubscribePage == nil }

    /// The settings of each provider, without secrets; nil if it is not set up.
    var summary: [(provider: String, words: String?)] {
        let page = unsubscribePage.map { "unsubscribe page \($0)" } ?? "no unsubscribe page"
        return [
            (Provider.mail, mail.map { "\($0.server) from \($0.from), \(page)" }),
            (Provider.apns, apns.map { "\($0)" }), (Provider.fcm, fcm.map { "\($0)" }),
        ].map { provider, words in
            (provider, words.map { $0 + (rates[provider].map { ", \($0)/s at most" } ?? "") })
        }
    }

    private func gate(_ provider: String, _ losses: LossDetector?, _ log: Log) -> ProviderGate {
        // The burst is the messages of one second.
        let rate = rates[provider].map { RateLimit(perSecond: $0, burst: max($0, 1)) }
        let log = log.with("provider", provider)
        return ProviderGate(rate: rate, losses: losses) { news in
            switch news {
            case .opened(let reason):
                log.warning("\(provider) refuses messages; its deliveries wait: \(reason)")
            case .closed(let reason):
                log.info("\(provider) accepts messages again, after: \(reason)")
            }
        }
    }

    private static func mail(_ variables: Variables) throws -> Mail? {
        let pageName = "ERRAND_UNSUBSCRIBE_URL"
        guard
            let values = try variables.all(
                ["ERRAND_SMTP_URL", "ERRAND_MAIL_FROM"], beside: ["ERRAND_MAIL_RATE", pageName])
        else { return nil }
        let page: UnsubscribePage?
        do throws(DeliverySettingsError) {
            page = try variables[pageName].map(UnsubscribePage.init)
        } catch {
            throw CommandFailure(
                exit: .usage, message: "mail is misconfigured: \(error)",
                hint: "\(pageName) is the app server's page that calls notification.unsubscribe()")
        }
        do {
            return Mail(
                server: try SMTPSettings(url: values[0]), from: try Mailbox(values[1]),
                unsubscribePage: page)
        } catch {
            throw CommandFailure(
                exit: .usage, message: "mail is misconfigured: \(error)",
                hint:
                    "set ERRAND_SMTP_URL=smtp://user:password@host:587, or ERRAND_SMTP_URL_FILE to "
                    + "a file that contains it, and ERRAND_MAIL_FROM=address")
        }
    }

    private static func apns(_ variables: Variables) throws -> APNsSettings? {
        let names = ["ERRAND_APNS_KEY_FILE", "ERRAND_APNS_KEY_ID", "ERRAND_APNS_TEAM_ID"]
        let extras = ["ERRAND_APNS_URL", "ERRAND_APNS_CA", "ERRAND_APNS_RATE"]
        guard let values = try variables.all(names, beside: extras) else { return nil }
        let keyFile = try variables.path(names[0]) ?? ""
        let authorities = try variables.authorities("ERRAND_APNS_CA")
        do throws(DeliverySettingsError) {
            return try APNsSettings(
                keyFile: keyFile, keyID: values[1], teamID: values[2],
                url: variables["ERRAND_APNS_URL"], authorityFile: authorities)
        } catch {
            throw CommandFailure(
                exit: .usage, message: "APNs is misconfigured: \(error)",
                hint: "\(names[0]) names the .p8 file from Apple's developer site, \(names[1]) and "
                    + "\(names[2]) are its identifier and the team's")
        }
    }

    private static func fcm(_ variables: Variables) throws -> FCMSettings? {
        let name = "ERRAND_FCM_ACCOUNT_FILE"
        let extras = ["ERRAND_FCM_URL", "ERRAND_FCM_CA", "ERRAND_FCM_RATE"]
        guard try variables.all([name], beside: extras) != nil else { return nil }
        let accountFile = try variables.path(name) ?? ""
        let authorities = try variables.authorities("ERRAND_FCM_CA")
        let url = variables["ERRAND_FCM_URL"]
        do throws(DeliverySettingsError) {
            // A simulator of FCM also issues the access tokens.
            return try FCMSettings(
                accountFile: accountFile, url: url, tokenURL: url.map { "\($0)/token" },
                authorityFile: authorities)
        } catch {
            throw CommandFailure(
                exit: .usage, message: "FCM is misconfigured: \(error)",
                hint: "\(name) names the JSON file of a service account from the Firebase console")
        }
    }
}
