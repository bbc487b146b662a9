package import FoundationEssentials

/// One notice to one device, for APNs or FCM.
///
/// Without title and body, it is a silent push, which wakes the app in the background.
package struct PushMessage: Sendable, Equatable {
    /// The environment for which the app was signed; a token of one is unknown in the other.
    package enum Environment: String, Sendable { case production, sandbox }

    /// The priority; `normal` may wait until the device is awake.
    package enum Priority: String, Sendable { case normal, high }

    /// The id of the delivery, the same for each attempt, by which receivers recognize copies.
    package let id: UUID
    /// The device's token, of any length.
    package let token: Secret
    /// The app's bundle identifier.
    package let app: String
    /// The environment of the token.
    package let environment: Environment
    /// The title.
    package var title: String?
    /// The text below the title.
    package var body: String?
    /// The data for the app; texts only, as FCM accepts nothing else.
    package var data: [String: String] = [:]
    /// The collapse key, at most 64 bytes: on the device, a push replaces an earlier one with the
    /// same key.
    ///
    /// Without it, only a copy of this push does.
    package var collapseKey: String?
    /// How urgent it is.
    package var priority = Priority.high
    /// The time of expiry; nil for the service's default.
    package var expiresAt: Date?
    /// The group of the notice on the screen.
    package var threadID: String?
    /// The number on the app's icon.
    package var badge: Int?

    /// Creates a message without title and text.
    package init(id: UUID, token: String, app: String, environment: Environment = .production) {
        self.id = id
        self.token = Secret(token)
        self.app = app
        self.environment = environment
    }

    var isSilent: Bool { title == nil && body == nil }
    var idText: String { id.uuidString.lowercased() }
    var collapseText: String { collapseKey ?? idText }
}

/// Prints as its id and app, without the device and the text.
extension PushMessage: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The identifier and the app.
    package var description: String { "push \(idText) to \(app)" }
    /// The same.
    package var debugDescription: String { description }
    /// Hides title, body and data, which are personal.
    package var customMirror: Mirror { Mirror(self, children: ["id": id, "app": app]) }
}

extension PushMessage {
    /// Returns the reason why both services would refuse it; nil if there is none.
    func fault(at now: Date) -> DeliveryVerdict? {
        guard !token.revealed.isEmpty, token.revealed.utf8.count <= 4096,
            token.revealed.utf8.allSatisfy(Self.isInToken)
        else {
            return .addressGone(
                reason: "the device's token is empty, too long, or has invalid characters",
                since: nil)
        }
        guard (1...64).contains(collapseText.utf8.count), collapseText.isOneLine else {
            return .rejected(reason: "collapse key: expected 1 to 64 bytes on one line")
        }
        if let expiresAt, expiresAt <= now {
            return .rejected(reason: "expired before it was sent")
        }
        return nil
    }

    /// Returns whether a byte needs no escape in a URL's path; tokens are hexadecimal or base64url
    /// with colons.
    private static func isInToken(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
            || (0x61...0x7A).contains(byte) || "-_:.".utf8.contains(byte)
    }
}
