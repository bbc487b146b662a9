/// A set of servers with a name, from the user's contexts.json.
package struct NamedContext: Equatable, Sendable {
    package var name: String
    package var databaseURL: String?
    package var redisURL: String?
    package var operatorName: String?
    /// Whether to ask before any change.
    package var isProduction = false
    package var isReadOnly: Bool?
    package var color: ColorChoice?

    /// A context without settings.
    package init(_ name: String) {
        self.name = name
    }

    /// The environment with what this context adds to it.
    ///
    /// - Parameter winsURLs: whether its servers win over those of the environment.
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

    /// Whether one of its URLs holds a password.
    var holdsPassword: Bool {
        [databaseURL, redisURL].contains { url in url.map { SecretURL.hidden($0) != $0 } ?? false }
    }
}
