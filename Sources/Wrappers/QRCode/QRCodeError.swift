/// Why there is no symbol, or no picture of one.
package enum QRCodeError: Error, Sendable, Equatable, CustomStringConvertible {
    /// There is no text.
    case empty
    /// A character that the alphanumeric mode does not have.
    case character(Character)
    /// More characters than the symbol takes; `fits` is the version that would do, if one does.
    case tooLong(count: Int, version: Int, level: QRSymbol.Level, fits: Int?)
    /// Versions go from 1 to 40.
    case badVersion(Int)
    /// A module is from 1 to ``QRSymbol/largestScale`` pixels wide.
    case badScale(Int)
    /// libqrencode or libpng failed; where, and its own words.
    case library(String)

    /// What a person can do about it.
    package var description: String {
        switch self {
        case .empty:
            "there is no text to put into a QR code"
        case .character(let character):
            "'\(character)' cannot stand in an alphanumeric QR code: expected 0-9, A-Z, space or "
                + "one of $%*+-./:"
        case .tooLong(let count, let version, let level, let fits):
            "\(count) characters do not fit into a QR code of version "
                + "\(version)-\(level.rawValue)"
                + (fits.map { ": version \($0) takes them" } ?? ", nor into any other version")
        case .badVersion(let version):
            "QR version \(version): expected 1 to 40"
        case .badScale(let scale):
            "\(scale) pixels a module: expected 1 to \(QRSymbol.largestScale)"
        case .library(let text):
            text
        }
    }
}
