import Foundation
import ErrandNotification

/// An operator's folder of words, gone with its last user.
final class TemplatesFolder {
    let path: String

    /// Files by their paths in it.
    init(_ files: [String: String]) throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "errand-words-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.path
        for (name, text) in files {
            let file = folder.appending(path: name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// A kind with a fact of each type, told by some channels.
func sampleKind(
    _ channels: [NoticeKind.Channel] = [.push], urgency: NoticeKind.Urgency = .normal
) -> NoticeKind {
    var kind = NoticeKind(
        "test.sample", app: .places, channels: channels,
        fields: [
            "title": .text, "count": .count, "away": .metres, "pay": .amount, "on": .day,
            "at": .time, "items": .list,
        ])
    kind.urgency = urgency
    return kind
}

/// Its data, with some of them replaced by other JSON; nil leaves a fact out.
func sampleData(_ changes: [String: String?] = [:]) -> [UInt8] {
    var facts: [String: String?] = [
        "title": #""Tea""#, "count": "2", "away": "119.4",
        "pay": #"{"minor": 1230, "currency": "CAD"}"#, "on": #""2026-11-20""#,
        "at": #""2026-11-20T22:30:00Z""#, "items": #"["one","two","three"]"#,
    ]
    facts.merge(changes) { _, new in new }
    let members = facts.compactMap { name, value in value.map { "\"\(name)\": \($0)" } }
    return Array("{\(members.sorted().joined(separator: ", "))}".utf8)
}

/// The templates with these files over the built-in ones.
///
/// - Throws: what is wrong as an operator reads it, with paths from the folder on.
func ownTemplates(
    _ files: [String: String], kinds: [NoticeKind] = [sampleKind()]
) throws -> NoticeTemplates {
    let folder = try TemplatesFolder(files)
    do throws(TemplateError) {
        return try NoticeTemplates(
            kinds: kinds, texts: EveryNotice.texts, overrides: folder.path)
    } catch {
        throw LogThrottle(
            text: error.description.replacingOccurrences(of: folder.path + "/", with: ""))
    }
}

/// What an operator would read.
struct LogThrottle: Error, Equatable {
    var text: String
}
