/// Why a symbol or its picture could not be created.
package enum QRCodeError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The text is empty.
    case empty
    /// A character that the alphanumeric mode does not have.
    case character(Character)
    /// More characters than the symbol can hold; `fits` is a version that can, if there is one.
    case tooLong(count: Int, version: Int, level: QRSymbol.Level, fits: Int?)
    /// The version is not from 1 to 40.
    case badVersion(Int)
    /// The width of a module is not from 1 to ``QRSymbol/largestScale`` pixels.
    case badScale(Int)
    /// libqrencode or libpng failed; the text contains its message.
    case library(String)

    /// The message for people.
    package var description: String {
        switch self {
        case .empty:
            "the text of the QR code is empty"
        case .character(let character):
            "'\(character)' is invalid in an alphanumeric QR code: expected 0-9, A-Z, space or "
                + "one of $%*+-./:"
        case .tooLong(let count, let version, let level, let fits):
            "\(count) characters do not fit into a QR code of version "
                + "\(version)-\(level.rawValue)"
                + (fits.map { ": use version \($0)" } ?? ", nor into any other version")
        case .badVersion(let version):
            "QR version \(version): expected 1 to 40"
        case .badScale(let scale):
            "\(scale) pixels per module: expected 1 to \(QRSymbol.largestScale)"
        case .library(let text):
            text
        }
    }
}
