import Foundation
import PackagePlugin

/// Embeds a module's SQL and the texts of its notices into its code, so that a program is a single
/// file and needs no list of files.
///
/// For the target `Errand` it reads the folder `migrations/engine` of the package; for others it
/// reads `migrations/NAME`, where NAME is the target's name in lower case without `Errand`. The
/// texts of notices are the files of `Notices/LOCALE` in the target's folder. The target gets
/// `EmbeddedFiles.migrations` and `EmbeddedFiles.notices`.
@main
struct EmbedSQL: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) async throws -> [Command] {
        let migrations = context.package.directoryURL.appending(path: "migrations")
            .appending(path: Self.module(of: target.name))
        let notices = target.directoryURL.appending(path: "Notices")
        if ![migrations, notices].contains(where: {
            FileManager.default.fileExists(atPath: $0.path)
        }) {
            Diagnostics.warning("\(target.name): there is no folder \(migrations.path)")
        }
        let code = """
            /// The embedded files of this module.
            enum EmbeddedFiles {
                static let migrations: [(path: String, text: String)] = [
            \(try Self.entries(of: migrations, in: ["tables", "routines"], suffix: ".sql"))
                ]
                static let notices: [(path: String, text: String)] = [
            \(try Self.entries(of: notices, in: Self.folders(in: notices), suffix: ""))
                ]
            }

            """
        let folder = context.pluginWorkDirectoryURL.appending(path: "Embedded")
        let file = folder.appending(path: "EmbeddedFiles.swift")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // Write it only if it differs; otherwise each build would compile the target again.
        if (try? String(contentsOf: file, encoding: .utf8)) != code {
            try code.write(to: file, atomically: true, encoding: .utf8)
        }
        // The folders are read here, at every build. SwiftPM needs a command that outputs the file.
        return [
            .prebuildCommand(
                displayName: "Embed the SQL of \(target.name)",
                executable: URL(filePath: "/usr/bin/env"), arguments: ["true"],
                outputFilesDirectory: folder)
        ]
    }

    private static func module(of target: String) -> String {
        if target == "Errand" { return "engine" }
        return (target.hasPrefix("Errand") ? String(target.dropFirst("Errand".count)) : target)
            .lowercased()
    }

    private static func entries(
        of root: URL, in folders: [String], suffix: String
    ) throws -> String {
        var entries: [String] = []
        for folder in folders {
            let path = root.appending(path: folder)
            for name in try names(in: path) where name.hasSuffix(suffix) {
                let text = try String(contentsOf: path.appending(path: name), encoding: .utf8)
                entries.append("        (\"\(folder)/\(name)\", \(literal(text))),")
            }
        }
        return entries.joined(separator: "\n")
    }

    /// Returns the files and folders of a folder, sorted by name; none if it does not exist.
    private static func names(in folder: URL) throws -> [String] {
        guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { !$0.hasPrefix(".") }.sorted()
    }

    private static func folders(in folder: URL) throws -> [String] {
        try names(in: folder).filter { !$0.contains(".") }
    }

    /// Returns a string literal in one line, with all special characters escaped.
    private static func literal(_ text: String) -> String {
        var literal = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": literal += "\\\""
            case "\\": literal += "\\\\"
            case "\n": literal += "\\n"
            default:
                literal +=
                    scalar.value < 0x20 ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
            }
        }
        return literal + "\""
    }
}
