import ErrandCommand
import ErrandTerminal

/// The options that describe a sending.
enum NewsDraftOptions {
    /// Of which kind.
    enum Kind: String, CaseIterable {
        case news = "company.news"
        case terms = "company.terms"
    }

    static let kind = Option<Kind?>.value(
        "kind", .choice(of: Kind.self, "KIND"),
        help: "company.news, which people can turn off, or company.terms, which all get")
    static let to = Option<String?>.text(
        "to", placeholder: "PEOPLE",
        help: "all, app:NAME for who uses an app, or @FILE with one person's id a line")
    static let headline = Option<String?>.value(
        "headline", .line("TEXT", upTo: 120), help: "The title")
    static let summary = Option<String?>.value(
        "summary", .line("TEXT", upTo: 300),
        help: "The text of the push; above the body in a mail of terms")
    static let body = Option<String?>.text(
        "body", placeholder: "TEXT", help: "The text of the mail and the inbox, @FILE, or @-")
    static let version = Option<String?>.value(
        "version", .line("TEXT", upTo: 40), help: "The version, for terms only, such as 2026-12")

    static let all: [any DeclaredOption] = [kind, to, headline, summary, body, version]

    /// Whether any was given.
    static func isGiven(_ invocation: Invocation) -> Bool {
        invocation[kind] != nil || invocation[to] != nil || invocation[headline] != nil
            || invocation[summary] != nil || invocation[body] != nil || invocation[version] != nil
    }

    /// Reads a draft, with its files.
    static func draft(_ invocation: Invocation) throws -> SendingDraft {
        guard let kind = invocation[kind], let to = invocation[to],
            let headline = invocation[headline], let summary = invocation[summary],
            let body = invocation[body]
        else {
            throw CommandFailure(
                exit: .usage,
                message: "a new sending needs --kind, --to, --headline, --summary and --body",
                hint: "'errand news ls --state draft' lists drafts")
        }
        guard (kind == .terms) == (invocation[version] != nil) else {
            throw CommandFailure(
                exit: .usage,
                message: kind == .terms
                    ? "company.terms needs --version" : "only company.terms has a --version")
        }
        let text = String(decoding: try JobInputOptions.content(body), as: UTF8.self)
        var draft = SendingDraft(
            kind: kind.rawValue, audience: to, headline: headline, summary: summary, body: text,
            version: invocation[version])
        if to.hasPrefix("@") {
            draft.audience = "list"
            draft.people = try people(in: String(to.dropFirst()))
        } else if to == "list" || to != "all" && !to.hasPrefix("app:") {
            throw CommandFailure(
                exit: .usage, message: "--to \(to): expected all, app:NAME or @FILE")
        }
        return draft
    }

    /// Reads one id a line; skips empty lines.
    private static func people(in path: String) throws -> [Int64] {
        var ids: [Int64] = []
        var reader = try LineReader(path: path)
        var number = 0
        while let line = try reader.next() {
            number += 1
            let text = String(decoding: line, as: UTF8.self)
            let word = text.split(whereSeparator: \.isWhitespace)
            guard !word.isEmpty else { continue }
            guard word.count == 1, let id = Int64(word[0]) else {
                throw CommandFailure(
                    exit: .usage, message: "\(path), line \(number): expected a person's id")
            }
            ids.append(id)
        }
        return ids
    }
}
