import FoundationEssentials
import Glibc

/// The user's contexts, and the current one.
package struct ResolvedContexts: Sendable {
    /// The path of the file; nil if the environment names no folder.
    package let path: String?
    package let file: ContextFile?
    package let current: NamedContext?
    /// The environment, including the variables that the current context adds.
    let environment: [String: String]
    /// The URLs set by the environment itself, by variable.
    package let given: [String: String]
    /// The URLs of the environment that override those of the current context.
    let overriding: [String: String]
    /// Warnings about the file.
    let warnings: [String]

    /// Reads the file, if it exists, and finds the current context.
    ///
    /// - Parameter asked: the value of `--context`; its URLs then override the environment's.
    init(asked: String?, environment: [String: String]) throws(CommandFailure) {
        path = Self.path(environment)
        given = environment.filter {
            ["DATABASE_URL", "REDIS_URL"].contains($0.key) && $0.value != ""
        }
        let named = asked ?? environment["ERRAND_CONTEXT"].flatMap { $0.isEmpty ? nil : $0 }
        guard let path, let text = try Self.read(path) else {
            if let path { try Self.refuseEarlierForm(path) }
            if let named {
                throw .usage(
                    "there is no context '\(named)'",
                    hint: "there is no file \(path ?? "contexts.json"); 'errand help context ls' "
                        + "explains its format")
            }
            (file, current, overriding, warnings) = (nil, nil, [:], [])
            self.environment = environment
            return
        }
        let file: ContextFile
        do throws(ContextFile.Flaw) { file = try ContextFile(text) } catch {
            throw .usage(
                "\(path):\(error.line): \(error.message)",
                hint: "'errand help context ls' explains the format")
        }
        self.file = file
        current = try (named ?? file.current).map { name throws(CommandFailure) in
            guard let context = file[name] else { throw Self.unknown(name, file) }
            return context
        }
        let ofContext = ["DATABASE_URL": current?.databaseURL, "REDIS_URL": current?.redisURL]
        overriding =
            asked != nil
            ? [:]
            : given.filter { variable, url in
                (ofContext[variable] ?? nil).map { $0 != url } ?? false
            }
        self.environment =
            current?.environment(over: environment, winsURLs: asked != nil) ?? environment
        let isOpen = Self.isOpenToOthers(path) && file.contexts.contains(where: \.holdsPassword)
        warnings =
            isOpen
            ? ["other users can read the passwords in \(path); run 'chmod 600 \(path)'"] : []
    }

    /// The failure for an unknown context.
    package static func unknown(_ name: String, _ file: ContextFile?) -> CommandFailure {
        let names = file?.contexts.map(\.name) ?? []
        let guess = nearest(to: name, among: names).map { "did you mean '\($0)'? " } ?? ""
        let list = names.isEmpty ? "none" : names.joined(separator: ", ")
        return .usage("there is no context '\(name)'", hint: guess + "contexts: \(list)")
    }

    /// `$XDG_CONFIG_HOME/errand/contexts.json`, or below `~/.config`.
    private static func path(_ environment: [String: String]) -> String? {
        if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") {
            return folder + "/errand/contexts.json"
        }
        guard let home = environment["HOME"], !home.isEmpty else { return nil }
        return home + "/.config/errand/contexts.json"
    }

    /// Refuses to run with the contexts file of an earlier version: ignoring it could skip the
    /// confirmation of a production context.
    private static func refuseEarlierForm(_ path: String) throws(CommandFailure) {
        let earlier = "\(path.dropLast("json".count))toml"
        guard unsafe access(earlier, F_OK) == 0 else { return }
        throw .usage(
            "\(earlier) is no longer supported: contexts are read from contexts.json",
            hint: "move them to \(path), as 'errand help context ls' explains, and remove the "
                + "old file")
    }

    private static func isOpenToOthers(_ path: String) -> Bool {
        var info = stat()
        return unsafe stat(path, &info) == 0 && info.st_mode & (S_IRGRP | S_IROTH) != 0
    }

    private static func read(_ path: String) throws(CommandFailure) -> String? {
        guard unsafe access(path, F_OK) == 0 else { return nil }
        guard let data = FileManager.default.contents(atPath: path),
            let text = String(validating: data, as: UTF8.self)
        else {
            throw .usage("cannot read \(path)", hint: "it must be a UTF-8 text file")
        }
        return text
    }

    /// Makes a context the current one in the file, and changes nothing else.
    package func use(_ name: String) throws(CommandFailure) {
        guard let file, file[name] != nil, let path, let text = try Self.read(path) else {
            throw Self.unknown(name, file)
        }
        // The file may be a symbolic link.
        let target = URL(filePath: path).resolvingSymlinksInPath().path
        try TextFile.replace(target, with: ContextFile.text(text, withCurrent: name))
    }
}
