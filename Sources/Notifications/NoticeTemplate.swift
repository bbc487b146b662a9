package import FoundationEssentials
import JobQueue

/// How a notice of one kind reads; declared by the domain that owns the words.
package struct NoticeTemplate: Sendable {
    package let kind: String
    let render: @Sendable (Data) throws -> NoticeWords

    /// The words for notices of a kind, made from their data.
    package init<Facts: Decodable & Sendable>(
        _ kind: String, _ render: @escaping @Sendable (Facts) -> NoticeWords
    ) {
        self.kind = kind
        self.render = { data in render(try JSONDecoder().decode(Facts.self, from: data)) }
    }

    /// Makes a text safe inside HTML.
    package static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            default: result.append(character)
            }
        }
        return result
    }
}

/// Words by templates that are the same for all channels.
package struct TemplateWording: Wording {
    private let templates: [String: NoticeTemplate]

    package init(_ templates: [NoticeTemplate]) {
        self.templates = Dictionary(templates.map { ($0.kind, $0) }) { first, _ in first }
    }

    package func words(
        of kind: String, on channel: NoticeKind.Channel, data: Data
    ) throws -> NoticeWords {
        guard let template = templates[kind] else {
            throw JobError.invalid("there are no words for notices of kind \(kind)")
        }
        return try template.render(data)
    }
}
