import FoundationEssentials
import ErrandTerminal

/// Environment variables; an empty one counts as unset.
package struct Variables {
    package var all: [String: String]

    package init(all: [String: String]) { self.all = all }

    package subscript(_ name: String) -> String? { all[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// The values of `names`, which must be set together; nil if none of them is set.
    ///
    /// - Parameter extras: variables that require `names`.
    package func all(_ names: [String], beside extras: [String]) throws(CommandFailure) -> [String]?
    {
        let found = names.compactMap { self[$0] }
        if found.count == names.count { return found }
        guard let first = (names + extras).first(where: { self[$0] != nil }) else { return nil }
        let missing = names.filter { self[$0] == nil }
        throw CommandFailure(
            exit: .usage,
            message: "\(first) is set, \(missing.joined(separator: " and ")) "
                + "\(missing.count == 1 ? "is" : "are") not",
            hint: "set \(names.count == 1 ? "it" : "all of them") or none: "
                + names.joined(separator: ", "))
    }

    /// The path that a variable names.
    package func path(_ name: String) throws(CommandFailure) -> String? {
        guard let path = self[name] else { return nil }
        let isPlain = path.utf8.count <= 4096 && path.utf8.allSatisfy { $0 >= 0x20 }
        guard isPlain, !path.hasPrefix("-----"), !path.hasPrefix("{") else {
            throw CommandFailure(
                exit: .usage, message: "\(name): expected the path of a file, not its content",
                hint: "write the value to a file that only errand can read, and give its path")
        }
        return path
    }

    /// The path of a file of CA certificates that replace the system's.
    package func authorities(_ name: String) throws(CommandFailure) -> String? {
        guard let path = try path(name) else { return nil }
        let content = (try? Data(contentsOf: URL(filePath: path))) ?? Data()
        let text = String(decoding: content, as: UTF8.self)
        guard text.contains("-----BEGIN CERTIFICATE-----") else {
            throw CommandFailure(
                exit: .usage, message: "\(name): \(path): expected certificates in PEM",
                hint: "unset it to trust the system's certificate authorities")
        }
        return path
    }

    package func rate(_ name: String) throws(CommandFailure) -> Double? {
        guard let text = self[name] else { return nil }
        guard let rate = Double(text), rate >= 0.001, rate <= 1_000_000 else {
            throw CommandFailure(
                exit: .usage, message: "\(name): expected messages per second, such as 50 or 0.5",
                hint: "unset it to send as fast as the provider accepts")
        }
        return rate
    }
}
