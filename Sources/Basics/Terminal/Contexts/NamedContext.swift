/// A named set of servers from the user's contexts.json.
package struct NamedContext: Equatable, Sendable {
    package var name: String
    package var databaseURL: String?
    package var redisURL: String?
    package var operatorName: String?
    /// Whether changes require confirmation.
    package var isProduction = false
    package var isReadOnly: Bool?
    package var color: ColorChoice?

    /// A context without settings.
    package init(_ name: String) {
        self.name = name
    }

    /// The environment, including the variables that this context adds.
    ///
    /// - Parameter winsURLs: whether its URLs override those of the environment.
    func environment(over environment: [String: String], winsURLs: Bool) -> [String: String] {
        var result = environment
        func set(_ name: String, _ value: String?, wins: Bool = false) {
            guard let value, wins || environment[name, default: ""].isEmpty else { return }
            result[name] = value
        }
        set("DATABASE_URL", databaseURL, wins: winsURLs)
        set("REDIS_URL", redisURL, wins: winsURLs)
        set("ERRAND_OPERATOR", operatorName)
        set("ERRAND_READ_ONLY", isReadOnly.map { $0 ? "1" : "0" })
        if environment["NO_COLOR", default: ""].isEmpty { set("ERRAND_COLOR", color?.rawValue) }
        return result
    }

    /// Whether one of its URLs contains a password.
    var holdsPassword: Bool {
        [databaseURL, redisURL].contains { url in url.map { SecretURL.hidden($0) != $0 } ?? false }
    }
}
