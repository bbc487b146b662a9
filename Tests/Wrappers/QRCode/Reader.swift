import Foundation
import ErrandQRCode
import ErrandTestServices

/// A text that a symbol of version 2 and this level takes.
struct Payload: Sendable {
    var text: String
    var level: QRSymbol.Level

    /// One of each length from 1 on that a level takes, at most 38, for all levels.
    static func all() -> [Payload] {
        QRSymbol.Level.allCases.flatMap { level in
            (1...min(38, capacities[level]?[1] ?? 0)).map { random(length: $0, level: level) }
        }
    }

    static func random(length: Int, level: QRSymbol.Level) -> Payload {
        let characters = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:")
        let text = (0..<length).map { _ in characters[.random(in: characters.indices)] }
        return Payload(text: String(text), level: level)
    }

    func symbol(version: Int = 2) throws -> QRSymbol {
        try QRSymbol(text, level: level, version: version)
    }
}

/// How many characters versions 1 to 4 take (ISO/IEC 18004, table 7).
let capacities: [QRSymbol.Level: [Int]] = [
    .low: [25, 47, 77, 114], .medium: [20, 38, 61, 90], .quartile: [16, 29, 47, 67],
    .high: [10, 20, 35, 50],
]

/// What zbarimg reads in these pictures, one line each.
func texts(in pictures: [URL]) async throws -> [String] {
    let read = try await output(
        of: [
            "zbarimg", "--quiet", "--nodbus", "--raw", "-Sdisable", "-Sqrcode.enable",
        ] + pictures.map(\.path))
    return read.split(separator: "\n").map(String.init)
}

/// What zbarimg reads in pictures with these contents.
func texts(in contents: [[UInt8]], kind: String) async throws -> [String] {
    try await withFolder { folder in
        try await texts(in: write(contents, kind: kind, to: folder))
    }
}

func write(_ contents: [[UInt8]], kind: String, to folder: URL) throws -> [URL] {
    try contents.enumerated().map { number, content in
        let file = folder.appending(path: "\(number).\(kind)")
        try Data(content).write(to: file)
        return file
    }
}

func withFolder<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
    let folder = try temporaryFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder)
}
