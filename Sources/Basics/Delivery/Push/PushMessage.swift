package import FoundationEssentials

/// One notice to one device, for whichever service its token belongs to.
///
/// Without title and body it is a silent one, which wakes the app in the background.
package struct PushMessage: Sendable, Equatable {
    /// How the app was signed; a token of one environment is unknown in the other.
    package enum Environment: String, Sendable { case production, sandbox }

    /// Whether it may wait until the device is awake anyway.
    package enum Priority: String, Sendable { case normal, high }

    /// Fixed for one delivery, however often it is tried: receivers tell copies by it.
    package let id: UUID
    /// The device's token, of any length.
    package let token: Secret
    /// The app's bundle identifier.
    package let app: String
    /// Where the token is known.
    package let environment: Environment
    /// The line in bold.
    package var title: String?
    /// The words below it.
    package var body: String?
    /// For the app; FCM takes texts alone, so APNs gets no more.
    package var data: [String: String] = [:]
    /// In at most 64 bytes, what a later push replaces the earlier one by on the device; without
    /// it only a second copy of this one does.
    package var collapseKey: String?
    /// How urgent it is.
    package var priority = Priority.high
    /// When it stops being of use; nil leaves that to the service.
    package var expiresAt: Date?
    /// Groups notices on the screen.
    package var threadID: String?
    /// The number on the app's icon.
    package var badge: Int?

    /// A message without words; set what else it has.
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

/// Its name in a log: neither the device nor the words.
extension PushMessage: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The identifier and the app.
    package var description: String { "push \(idText) to \(app)" }
    /// The same.
    package var debugDescription: String { description }
    /// Nothing to look into: title, body and data are a person's own affair.
    package var customMirror: Mirror { Mirror(self, children: ["id": id, "app": app]) }
}

extension PushMessage {
    /// What both services would refuse, told before anything is sent; nil when there is nothing.
    func fault(at now: Date) -> DeliveryVerdict? {
        guard !token.revealed.isEmpty, token.revealed.utf8.count <= 4096,
            token.revealed.utf8.allSatisfy(Self.isInToken)
        else {
            return .addressGone(
                reason: "the device's token is empty, too long, or has characters none can have",
                since: nil)
        }
        guard (1...64).contains(collapseText.utf8.count), collapseText.isOneLine else {
            return .rejected(reason: "collapse key: expected 1 to 64 bytes on one line")
        }
        if let expiresAt, expiresAt <= now {
            return .rejected(reason: "it expired before it was sent")
        }
        return nil
    }

    /// What stands in a URL's path as it is; tokens are hexadecimal or base64url with colons.
    private static func isInToken(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
            || (0x61...0x7A).contains(byte) || "-_:.".utf8.contains(byte)
    }
}
