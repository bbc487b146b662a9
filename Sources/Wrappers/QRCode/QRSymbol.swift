import CErrandQRCode
import Glibc

/// A QR symbol (ISO/IEC 18004) of a text in the alphanumeric mode.
///
/// Its version is the requested one, not the smallest that fits, so that the picture of a changing
/// code keeps its size.
package struct QRSymbol: Sendable, Equatable {
    /// The level of error correction: how much of a symbol may be damaged.
    package enum Level: String, Sendable, CaseIterable {
        /// About 7 % of the codewords.
        case low = "L"
        /// About 15 %: for screens.
        case medium = "M"
        /// About 25 %: for paper and outdoors.
        case quartile = "Q"
        /// About 30 %.
        case high = "H"

        fileprivate var name: QRecLevel {
            switch self {
            case .low: QR_ECLEVEL_L
            case .medium: QR_ECLEVEL_M
            case .quartile: QR_ECLEVEL_Q
            case .high: QR_ECLEVEL_H
            }
        }
    }

    /// The width of the light border around the symbol, in modules.
    package static let quietZone = 4

    /// The version, 1 to 40.
    package let version: Int
    /// The level of error correction.
    package let level: Level
    /// The modules per side, without the quiet zone.
    package let side: Int
    private let modules: [Bool]

    /// Encodes a text.
    ///
    /// - Parameters:
    ///   - text: digits, capital letters, space and `$%*+-./:`.
    ///   - level: the level of error correction.
    ///   - version: the size; version 2 holds 38 characters at level M.
    package init(
        _ text: String, level: Level = .medium, version: Int = 2
    ) throws(QRCodeError) {
        guard (1...Int(QRSPEC_VERSION_MAX)).contains(version) else { throw .badVersion(version) }
        guard !text.isEmpty else { throw .empty }
        for character in text where !Self.isAlphanumeric(character) {
            throw .character(character)
        }
        self.version = version
        self.level = level
        modules = try Self.modules(of: Array(text.utf8), level: level, version: version)
        side = 17 + 4 * version
    }

    /// Returns whether a module is dark; those outside the symbol are light.
    package func isDark(row: Int, column: Int) -> Bool {
        guard 0..<side ~= row, 0..<side ~= column else { return false }
        return modules[row * side + column]
    }

    /// The rows, or columns, of a picture: those of the symbol and of its quiet zone.
    var frame: Range<Int> { -Self.quietZone..<side + Self.quietZone }

    private static func isAlphanumeric(_ character: Character) -> Bool {
        switch character {
        case "0"..."9", "A"..."Z": character.isASCII
        default: " $%*+-./:".contains(character)
        }
    }

    /// The modules row by row.
    private static func modules(
        of text: [UInt8], level: Level, version: Int
    ) throws(QRCodeError) -> [Bool] {
        guard let input = unsafe QRinput_new2(Int32(version), level.name) else {
            throw .library("libqrencode is out of memory")
        }
        defer { unsafe QRinput_free(input) }
        guard unsafe QRinput_append(input, QR_MODE_AN, Int32(text.count), text) == 0 else {
            throw .library("libqrencode refuses the text of a QR code")
        }
        guard let symbol = unsafe QRcode_encodeInput(input) else {
            guard errno == ERANGE else { throw .library("libqrencode cannot create a QR code") }
            throw .tooLong(count: text.count, version: version, level: level, fits: nil)
        }
        defer { unsafe QRcode_free(symbol) }
        // The library silently uses the next version that fits.
        let fits = Int(unsafe symbol.pointee.version)
        guard fits == version else {
            throw .tooLong(count: text.count, version: version, level: level, fits: fits)
        }
        let side = Int(unsafe symbol.pointee.width)
        // The lowest bit of each byte is the module; the others are its purpose.
        return unsafe UnsafeBufferPointer(start: symbol.pointee.data, count: side * side)
            .map { $0 & 1 == 1 }
    }
}
