/// A part of a parsed template.
enum TemplatePart: Sendable, Equatable {
    /// Literal text.
    case literal(String)
    /// The fact with this number, within a line.
    case fact(Int)
    /// The list with this number, one item per line with this indent.
    case block(Int, indent: String)
    /// The count with this number, in digits.
    case number(Int)
    /// One of these forms, by the count with this number and the plural rule of the language.
    case plural(Int, [[TemplatePart]])
    /// These parts, unless the fact with this number is empty.
    case optional(Int, [TemplatePart])
}

/// The context of a text, which determines its permitted content.
enum TemplatePlace: Sendable, Equatable {
    /// A title: never a line break.
    case line
    case text
    /// Everything from the data is escaped.
    case html
}

/// The type of a name in a template.
enum TemplateFact: Sendable, Equatable {
    case field(NoticeKind.Field)
    /// In the layout of mails: the rendered body.
    case body
    /// In the layout of mails: the unsubscribe link; empty for urgent kinds.
    case link

    /// The type in error messages.
    var text: String {
        switch self {
        case .field(.text): "a text"
        case .field(.count): "a count"
        case .field(.metres): "a distance"
        case .field(.amount): "an amount"
        case .field(.amounts): "amounts"
        case .field(.day): "a day"
        case .field(.time): "a time"
        case .field(.list): "a list"
        case .field(.link): "a link"
        case .body: "the body"
        case .link: "a link"
        }
    }

    /// Whether `{?name …}` may test it.
    var canBeEmpty: Bool {
        switch self {
        case .field(.text), .field(.count), .field(.list), .link: true
        case .field(.metres), .field(.amount), .field(.amounts), .field(.day), .field(.time),
            .field(.link), .body:
            false
        }
    }
}

/// The facts that a template may use, in the order of their numbers.
struct TemplateFacts: Sendable, Equatable {
    /// The owner of the facts, for error messages.
    let owner: String
    /// Ascending.
    let names: [String]
    let types: [TemplateFact]

    /// Creates the facts of a kind.
    init(of kind: NoticeKind) {
        owner = kind.name
        names = kind.fields.keys.sorted()
        let fields = kind.fields
        types = names.compactMap { name in fields[name].map { .field($0) } }
    }

    private init(owner: String, _ facts: [(name: String, type: TemplateFact)]) {
        self.owner = owner
        names = facts.map(\.name)
        types = facts.map(\.type)
    }

    /// The facts of the layout of mails.
    static let layout = TemplateFacts(
        owner: "the layout",
        [("body", .body), ("subject", .field(.text)), ("unsubscribe", .link)])
}
