import Foundation
import ErrandPostgres
import ErrandTerminal
import ErrandTestServices
import Testing

@Suite("Examples of the documentation") struct ExampleTests {
    @Test(arguments: Page.all.map(\.path))
    func `every call of errand is one that the program takes`(_ path: String) throws {
        let page = try #require(Page.at(path))
        for block in page.blocks where block.language == "sh" {
            for call in ShellCalls(block.lines).calls {
                let flaw = wholeProgram.flaw(in: call)
                #expect(flaw == nil, "\(path):\(block.line): \(flaw ?? "")")
            }
        }
    }

    @Test(.database) func `every statement of SQL is one that PostgreSQL takes`() async throws {
        let database = try TestDatabase.here()
        let session = database.session("documentation")
        // The table that the examples of the README write to.
        _ = try await session.query(
            "CREATE TABLE orders (id bigint PRIMARY KEY, receipt_sent boolean DEFAULT false)")
        var count = 0
        for page in Page.all {
            for block in page.blocks where block.language == "sql" {
                // One page may build on what its earlier blocks create.
                for statement in SQLStatements(block.lines).all {
                    count += 1
                    do { _ = try await session.query(statement) } catch {
                        Issue.record("\(page.path):\(block.line): \(statement)\n\(error)")
                    }
                }
            }
        }
        #expect(count > 40)
    }

    @Test(arguments: Page.all.map(\.path))
    func `every block of Swift stands in a sample that compiles`(_ path: String) throws {
        let page = try #require(Page.at(path))
        let samples = try Self.samples.get()
        for block in page.blocks where block.language == "swift" {
            let lines = Self.plain(block.lines)
            #expect(!lines.isEmpty, "\(path):\(block.line): an empty block")
            let isFound = samples.contains { sample in
                sample.indices.contains { Array(sample[$0...].prefix(lines.count)) == lines }
            }
            #expect(isFound, "\(path):\(block.line): no file of Tests/Documentation/Samples has it")
        }
    }

    /// The lines of each sample, and of the example program, which its own test builds and runs.
    private static let samples = Result {
        try ["Tests/Documentation/Samples", "Examples/shop/Sources/shop"].flatMap { path in
            let folder = Checkout.root.appending(path: path)
            return try FileManager.default.contentsOfDirectory(atPath: folder.path).map { name in
                let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
                return plain(text.split(separator: "\n").map(String.init))
            }
        }
    }

    /// Lines that are not empty, without their indentation.
    private static func plain(_ lines: [String]) -> [String] {
        lines.map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }
}

/// The calls of `errand` in lines of a shell.
struct ShellCalls {
    private(set) var calls: [String] = []

    init(_ lines: [String]) {
        var whole = ""
        for line in lines {
            // A line that goes on.
            if line.hasSuffix("\\") {
                whole += line.dropLast() + " "
                continue
            }
            add(whole + line)
            whole = ""
        }
    }

    private mutating func add(_ line: String) {
        var quote: Character?
        var part = ""
        var previous: Character = " "
        for character in line {
            if let open = quote {
                if character == open { quote = nil }
            } else if character == "'" || character == "\"" {
                quote = character
            } else if character == "#", previous == " " {
                break
            } else if ";|&".contains(character) {
                finish(&part)
                previous = character
                continue
            }
            part.append(character)
            previous = character
        }
        finish(&part)
    }

    private mutating func finish(_ part: inout String) {
        // What the shell replaces: any value does, and the call inside is one of its own.
        let replaced = part.replacing(/"?\$\(([^)]*)\)"?/) { match in
            add(String(match.1))
            return "1"
        }
        var words = replaced.trimmingCharacters(in: .whitespaces)[...]
        // Variables for this call alone.
        while let variable = words.prefixMatch(of: /[A-Z_]+=\S* +/) {
            words = words[variable.range.upperBound...]
        }
        if words.hasPrefix("errand ") { calls.append(String(words)) }
        part = ""
    }
}

/// The statements of a block of SQL as PostgreSQL can plan them without running them.
struct SQLStatements {
    private(set) var all: [String] = []

    init(_ lines: [String]) {
        let text = lines.filter { !$0.hasPrefix("\\") }.map { line in
            line.firstRange(of: "--").map { String(line[..<$0.lowerBound]) } ?? line
        }.joined(separator: "\n")
        var quoted = false
        var statement = ""
        for character in text {
            if character == "'" { quoted.toggle() }
            if character == ";", !quoted {
                add(statement)
                statement = ""
            } else {
                statement.append(character)
            }
        }
        add(statement)
    }

    private mutating func add(_ statement: String) {
        let plain = statement.trimmingCharacters(in: .whitespacesAndNewlines)
            .replacing(/(^|[^:\w]):'?([a-z_]+)'?/) { "\($0.1)NULL" }
        guard let verb = plain.split(separator: " ").first?.uppercased() else { return }
        if ["BEGIN", "COMMIT", "ROLLBACK", "GRANT", "SET"].contains(verb) { return }
        let isPlanned = ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"].contains(verb)
        all.append(isPlanned ? "EXPLAIN \(plain)" : plain)
    }
}
