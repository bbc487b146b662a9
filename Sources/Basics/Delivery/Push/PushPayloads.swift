import ErrandJSONText
import FoundationEssentials

extension PushMessage {
    /// The maximum bytes of a payload, of both services (APNs "Generating a remote notification",
    /// FCM "Throttling and quotas").
    package static let payloadLimit = 4096

    /// The field by which an app recognizes a copy, unless the data has a field of this name.
    private static let idField = "notification_id"

    /// The data in a fixed order, so that a message always renders to the same bytes.
    private var fields: [JSONValue.Member] {
        data.merging([Self.idField: idText]) { own, _ in own }.sorted { $0.key < $1.key }
            .map { JSONValue.Member($0.key, .text($0.value)) }
    }

    private var words: [JSONValue.Member] { members(("title", title), ("body", body)) }

    private func members(_ texts: (name: String, text: String?)...) -> [JSONValue.Member] {
        texts.compactMap { name, text in text.map { JSONValue.Member(name, .text($0)) } }
    }

    /// Returns the payload for APNs, with the data beside `aps`.
    package func apnsPayload() -> [UInt8] {
        var aps: [JSONValue.Member] = [
            isSilent ? .init("content-available", .int(1)) : .init("alert", .object(words))
        ]
        if let badge { aps.append(.init("badge", .int(badge))) }
        aps += members(("thread-id", threadID))
        return JSONValue.object([.init("aps", .object(aps))] + fields).serialized
    }

    /// Returns the request's body for FCM.
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

    /// Returns the size of the part of the body that FCM limits.
    func fcmPayloadSize() -> Int {
        let part: JSONValue = ["notification": .object(words), "data": .object(fields)]
        return part.serialized.count
    }
}
