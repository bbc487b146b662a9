import ErrandGregorian

extension CivilDate {
    /// `2026-12-31` (ISO 8601).
    var dashed: String { digits(separator: "-") }

    /// `20261231`.
    var compact: String { digits(separator: "") }

    private func digits(separator: String) -> String {
        var bytes: [UInt8] = []
        bytes.appendNumber(Int64(year), width: 4)
        bytes += separator.utf8
        bytes.appendNumber(Int64(month), width: 2)
        bytes += separator.utf8
        bytes.appendNumber(Int64(day), width: 2)
        return String(decoding: bytes, as: UTF8.self)
    }
}
