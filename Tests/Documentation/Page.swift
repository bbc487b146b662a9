import Foundation
import ErrandTestServices

/// One page of Markdown: its headings, links and examples.
struct Page {
    /// A block of code between two fences.
    struct Block {
        /// What follows the opening fence, such as `swift` or `swift package`.
        var language: String
        /// The number of the line of its fence, from 1.
        var line: Int
        var lines: [String]
    }

    /// Relative to the root of the checkout.
    var path: String
    var lineCount: Int
    var blocks: [Block] = []
    /// The targets of links as they are written, without those of other sites.
    var links: [String] = []
    /// The names by which links reach the headings, as GitHub makes them.
    var anchors: Set<String> = []

    /// Every page that a reader meets: the top folder, docs and deploy.
    static let all: [Page] = {
        let root = Checkout.root
        var paths = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
        for folder in ["docs", "deploy", "Examples", "Sources/Engine/Errand/Errand.docc"] {
            let files = FileManager.default.enumerator(atPath: root.appending(path: folder).path)
            while let file = files?.nextObject() as? String {
                if file.hasSuffix(".md"), !file.contains(".build/") {
                    paths.append("\(folder)/\(file)")
                }
            }
        }
        return paths.compactMap { Page($0) }
    }()

    private static let byPath = Dictionary(uniqueKeysWithValues: all.map { ($0.path, $0) })

    /// The page at a path; nil if there is none.
    static func at(_ path: String) -> Page? { byPath[path] ?? Page(path) }

    private init?(_ path: String) {
        let file = Checkout.root.appending(path: path)
        guard let text = try? String(contentsOf: file, encoding: .utf8) else { return nil }
        self.path = path
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        lineCount = lines.count - (lines.last == "" ? 1 : 0)
        var block: Block?
        for (index, line) in lines.enumerated() {
            let trimmed = line.trimmingCharacters(in: .whitespaces)
            if trimmed.hasPrefix("```") {
                if let open = block {
                    blocks.append(open)
                    block = nil
                } else {
                    block = Block(
                        language: String(trimmed.dropFirst(3)), line: index + 1, lines: [])
                }
            } else if block != nil {
                block?.lines.append(line)
            } else {
                read(line)
            }
        }
    }

    private mutating func read(_ line: String) {
        if let heading = line.firstMatch(of: /^#{1,6} (.+)$/) {
            anchors.insert(Self.anchor(String(heading.1)))
        }
        for link in line.matches(of: /\]\(([^)\s]+)\)/) where !link.1.contains("://") {
            links.append(String(link.1))
        }
    }

    private static func anchor(_ heading: String) -> String {
        let kept = heading.lowercased().filter {
            $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_"
        }
        return kept.replacingOccurrences(of: " ", with: "-")
    }

    /// Where a link of this page leads: a path from the root, and a heading.
    func target(of link: String) -> (path: String, anchor: String?) {
        let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let anchor = parts.count > 1 ? String(parts[1]) : nil
        guard !parts[0].isEmpty else { return (path, anchor) }
        var folder = path.split(separator: "/").dropLast().map(String.init)
        for part in parts[0].split(separator: "/") where part != "." {
            if part == ".." { _ = folder.popLast() } else { folder.append(String(part)) }
        }
        return (folder.joined(separator: "/"), anchor)
    }
}
