import ErrandJSONText
import FoundationEssentials

extension PushMessage {
    /// Both services take this many bytes (APNs "Generating a remote notification", FCM
    /// "Throttling and quotas").
    package static let payloadLimit = 4096

    /// By which an app tells a second copy, unless the data has a field of this name already.
    private static let idField = "notification_id"

    /// Data in a fixed order, so that a message renders to the same bytes each time.
    private var fields: [JSONValue.Member] {
        data.merging([Self.idField: idText]) { own, _ in own }.sorted { $0.key < $1.key }
            .map { JSONValue.Member($0.key, .text($0.value)) }
    }

    private var words: [JSONValue.Member] { members(("title", title), ("body", body)) }

    private func members(_ texts: (name: String, text: String?)...) -> [JSONValue.Member] {
        texts.compactMap { name, text in text.map { JSONValue.Member(name, .text($0)) } }
    }

    /// The payload for APNs: the data stands beside `aps`.
    package func apnsPayload() -> [UInt8] {
        var aps: [JSONValue.Member] = [
            isSilent ? .init("content-available", .int(1)) : .init("alert", .object(words))
        ]
        if let badge { aps.append(.init("badge", .int(badge))) }
        aps += members(("thread-id", threadID))
        return JSONValue.object([.init("aps", .object(aps))] + fields).serialized
    }

    /// The request's body for FCM.
    func fcmBody(at now: Date) -> [UInt8] {
        var message = members(("token", token.revealed))
        if !isSilent { message.append(.init("notification", .object(words))) }
        message.append(.init("data", .object(fields)))
        message.append(.init("android", .object(android(at: now))))
        return JSONValue.object([.init("message", .object(message))]).serialized
    }

    private func android(at now: Date) -> [JSONValue.Member] {
        let ttl = expiresAt.map { end in
            let seconds = end.timeIntervalSince(now).rounded(.down)
            return "\(Int(min(max(seconds, 0), 2_419_200)))s"
        }
        var android = members(
            ("priority", priority == .high ? "HIGH" : "NORMAL"), ("ttl", ttl),
            ("collapse_key", collapseKey))
        if !isSilent {
            // A second notification with the same tag replaces the first.
            var shown = members(("tag", collapseText))
            if let badge { shown.append(.init("notification_count", .int(badge))) }
            android.append(.init("notification", .object(shown)))
        }
        return android
    }

    /// The part of FCM's body that its limit is about.
    func fcmPayloadSize() -> Int {
        let part: JSONValue = ["notification": .object(words), "data": .object(fields)]
        return part.serialized.count
    }
}
