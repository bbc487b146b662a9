import FoundationEssentials

extension PushMessage {
    /// Both services take this many bytes (APNs "Generating a remote notification", FCM
    /// "Throttling and quotas").
    package static let payloadLimit = 4096

    /// By which an app tells a second copy, unless the data has a field of this name already.
    private static let idField = "notification_id"

    /// Data in a fixed order, so that a message renders to the same bytes each time.
    private var fields: [(key: String, value: String)] {
        data.merging([Self.idField: idText]) { own, _ in own }.sorted { $0.key < $1.key }
    }

    /// The payload for APNs: the data stands beside `aps`.
    package func apnsPayload() -> [UInt8] {
        JSONText.object { text in
            text.field("aps") { aps in
                if isSilent {
                    aps.field("content-available", 1)
                } else {
                    aps.field("alert") { alert in
                        if let title { alert.field("title", title) }
                        if let body { alert.field("body", body) }
                    }
                }
                if let badge { aps.field("badge", badge) }
                if let threadID { aps.field("thread-id", threadID) }
            }
            for field in fields { text.field(field.key, field.value) }
        }
    }

    /// The request's body for FCM.
    func fcmBody(at now: Date) -> [UInt8] {
        JSONText.object { text in
            text.field("message") { message in
                message.field("token", token.revealed)
                if !isSilent { message.field("notification", writeWords) }
                message.field("data", writeData)
                message.field("android") { android in
                    android.field("priority", priority == .high ? "HIGH" : "NORMAL")
                    if let expiresAt {
                        let seconds = expiresAt.timeIntervalSince(now).rounded(.down)
                        android.field("ttl", "\(Int(min(max(seconds, 0), 2_419_200)))s")
                    }
                    if let collapseKey { android.field("collapse_key", collapseKey) }
                    if !isSilent {
                        android.field("notification") { shown in
                            // A second notification with the same tag replaces the first.
                            shown.field("tag", collapseText)
                            if let badge { shown.field("notification_count", badge) }
                        }
                    }
                }
            }
        }
    }

    /// The part of FCM's body that its limit is about.
    func fcmPayloadSize() -> Int {
        JSONText.object { text in
            text.field("notification", writeWords)
            text.field("data", writeData)
        }.count
    }

    private func writeWords(_ text: inout JSONText) {
        if let title { text.field("title", title) }
        if let body { text.field("body", body) }
    }

    private func writeData(_ text: inout JSONText) {
        for field in fields { text.field(field.key, field.value) }
    }
}
