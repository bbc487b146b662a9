/// One piece of a template that was read.
enum TemplatePart: Sendable, Equatable {
    /// As it stands in the file.
    case literal(String)
    /// A fact by its number, within a line.
    case fact(Int)
    /// A list by its number, one item a line, each with this indent.
    case block(Int, indent: String)
    /// The count of this number, in digits.
    case number(Int)
    /// One of these, by the count of this number and the plural rule of the language.
    case plural(Int, [[TemplatePart]])
    /// These, unless the fact of this number is empty.
    case optional(Int, [TemplatePart])
}

/// Where words stand, and so what may be in them.
enum TemplatePlace: Sendable, Equatable {
    /// A title: never a line break.
    case line
    case text
    /// Everything from the data is escaped.
    case html
}

/// What a name in a template stands for.
enum TemplateFact: Sendable, Equatable {
    case field(NoticeKind.Field)
    /// In the layout of mails: what the mail says, made before.
    case body
    /// In the layout of mails: where one can unsubscribe; empty for urgent kinds.
    case link

    /// As errors call it.
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
        case .body: "the body"
        case .link: "a link"
        }
    }

    /// Whether `{?name …}` can ask for it.
    var canBeEmpty: Bool {
        switch self {
        case .field(.text), .field(.count), .field(.list), .link: true
        case .field(.metres), .field(.amount), .field(.amounts), .field(.day), .field(.time), .body:
            false
        }
    }
}

/// The facts that a template may use, in the order in which a notice's facts are numbered.
struct TemplateFacts: Sendable, Equatable {
    /// Whose they are, for errors.
    let owner: String
    /// Ascending.
    let names: [String]
    let types: [TemplateFact]

    /// Those of a kind.
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

    /// Those of the layout of mails.
    static let layout = TemplateFacts(
        owner: "the layout",
        [("body", .body), ("subject", .field(.text)), ("unsubscribe", .link)])
}
