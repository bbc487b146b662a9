import ErrandPrivateFiles

/// Reads a text file with a secret.
enum SecretText {
    private static let longest = 65_536

    /// Why a file was not read.
    struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    /// - Throws: ``Refusal`` without the content.
    static func read(_ path: String) throws(Refusal) -> String {
        do throws(PrivateFileError) {
            return String(
                decoding: try PrivateFile.read(path, limit: longest), as: UTF8.self)
        } catch {
            switch error {
            case .unreadable: throw Refusal(description: "cannot be read")
            case .notAFile: throw Refusal(description: "is not a file")
            case .openToAll:
                throw Refusal(
                    description: "\(PrivateFile.openToAll(path)): \(PrivateFile.remedy(path))")
            case .tooLong: throw Refusal(description: "is too long for a key")
            }
        }
    }
}
