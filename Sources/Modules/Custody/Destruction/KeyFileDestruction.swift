import ErrandCommand
import ErrandCrypto
import ErrandKeys
import ErrandPeople
import ErrandPostgres
import ErrandPrivateFiles
import ErrandTerminal

/// The destruction of the key file, so that nobody can open a sealed value, in a backup neither.
struct KeyFileDestruction: Sendable {
    /// What the certificate says of it, recorded before the file is destroyed.
    struct Detail: Codable, Sendable {
        /// The file; nil if there is none.
        var file: String?
        /// The keys in it.
        var keys: [String] = []
        /// The keys that sealed values need, but that the file did not have.
        var elsewhere: [String] = []
    }

    /// The name by which a plan accepts that keys are destroyed elsewhere.
    static let matter = "keys_elsewhere"

    private let path: String?
    /// The keys in the file; none if it cannot be read.
    private let names: [String]
    /// Why the file cannot be read.
    private let trouble: String?
    /// The keys that sealed values need.
    private let needed: [String]

    /// Reads the key file of this host, and the names of the keys that sealed values need.
    init(_ invocation: Invocation, _ session: Session) async throws {
        path = try Variables(all: invocation.environment).path(KeySettings.variable)
        do throws(CommandFailure) {
            names = try KeySettings.keys(invocation.environment)?.names ?? []
            trouble = path == nil ? "\(KeySettings.variable) is not set" : nil
        } catch {
            // Invalid files are destroyed too.
            names = []
            trouble = error.message
        }
        needed = try await invocation.usableModules(session).all.sealingKeysInUse(session)
    }

    /// The matter that is open if the file of this host does not have all keys that are needed.
    var openMatter: OpenMatter? {
        let missing = needed.filter { !names.contains($0) }
        guard !missing.isEmpty else { return nil }
        return OpenMatter(name: Self.matter, message: words(missing), remedy: "errand key ls")
    }

    private func words(_ missing: [String]) -> String {
        "sealed values need keys that the key file of this host does not have: "
            + missing.joined(separator: ", ") + (trouble.map { " (\($0))" } ?? "")
    }

    /// Returns what to record, once the file can be destroyed and has all keys that are needed.
    ///
    /// - Parameters:
    ///   - recorded: what an earlier run has recorded; the file may be gone since.
    ///   - isAccepted: whether the plan accepts that keys are destroyed elsewhere.
    func detail(after recorded: Detail, isAccepted: Bool) throws(CommandFailure) -> Detail {
        let isContinued = path != nil && recorded.file == path
        let known = Set(names).union(isContinued ? recorded.keys : [])
        let missing = Set(needed).union(recorded.keys).subtracting(known).sorted()
        guard missing.isEmpty || isAccepted else {
            throw CommandFailure(
                exit: .refused, message: words(missing),
                hint: "run 'errand destruction start' where "
                    + (recorded.file ?? "the key file") + " is")
        }
        guard let path else { return Detail(elsewhere: missing) }
        let exists: Bool
        do throws(PrivateFileError) { exists = try PrivateFile.canDestroy(path) } catch {
            throw Self.failure(path, error)
        }
        guard exists || isContinued || isAccepted else {
            throw CommandFailure(
                exit: .refused, message: "there is no key file \(path) on this host",
                hint: "run 'errand destruction start' where it is, or without "
                    + "\(KeySettings.variable) if nothing was ever sealed")
        }
        return Detail(
            file: exists || isContinued ? path : nil, keys: known.sorted(), elsewhere: missing)
    }

    /// Overwrites and removes a recorded file; an earlier run may have done so.
    static func destroy(_ detail: Detail) throws(CommandFailure) {
        guard let path = detail.file else { return }
        do throws(PrivateFileError) { _ = try PrivateFile.destroy(path) } catch {
            throw failure(path, error)
        }
    }

    private static func failure(_ path: String, _ error: PrivateFileError) -> CommandFailure {
        let reason =
            switch error {
            case .unreadable(let code): "error \(code) of the system"
            case .notAFile: "it is not a file"
            case .openToAll, .tooLong: "\(error)"
            }
        return CommandFailure(
            exit: .failed, message: "the key file \(path) cannot be overwritten: \(reason)",
            hint: "make it writable, then run 'errand destruction start' again")
    }
}
