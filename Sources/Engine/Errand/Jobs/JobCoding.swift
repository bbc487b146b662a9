import FoundationEssentials
import ErrandPostgres

/// The JSON encoding of arguments: times as RFC 3339 in UTC, keys named as the properties.
enum JobCoding {
    static let encoder: JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(Instant(date: date).description)
        }
        return encoder
    }()

    /// Encodes the arguments of jobs.
    ///
    /// - Throws: ``JobError/argumentsTooLarge(kind:bytes:)``; the error of a job's own `encode`.
    static func encode<Work: Job>(_ jobs: some Sequence<Work>) throws -> [[UInt8]] {
        try jobs.map { job in
            let bytes = [UInt8](try encoder.encode(job))
            guard bytes.count <= JobClient.argumentLimit else {
                throw JobError.argumentsTooLarge(kind: Work.kind, bytes: bytes.count)
            }
            return bytes
        }
    }

    /// Encodes the arguments of one job.
    static func encode<Work: Job>(_ job: Work) throws -> [UInt8] {
        try encode(CollectionOfOne(job))[0]
    }

    /// Encodes the arguments of many jobs on all processors, because PostgreSQL waits for them.
    static func encodeMany<Work: Job>(_ jobs: [Work]) async throws -> [[UInt8]] {
        let parts = min(ProcessInfo.processInfo.activeProcessorCount, jobs.count / smallestPart)
        guard parts > 1 else { return try encode(jobs) }
        let size = (jobs.count + parts - 1) / parts
        return try await withThrowingTaskGroup(of: (Int, [[UInt8]]).self) { group in
            for start in stride(from: 0, to: jobs.count, by: size) {
                group.addTask { (start, try encode(jobs[start..<min(start + size, jobs.count)])) }
            }
            var encoded: [(start: Int, args: [[UInt8]])] = []
            for try await part in group { encoded.append(part) }
            return encoded.sorted { $0.start < $1.start }.flatMap(\.args)
        }
    }

    private static let smallestPart = 256

    static let decoder: JSONDecoder = {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            let container = try decoder.singleValueContainer()
            let text = try container.decode(String.self)
            guard let instant = Instant(text) else {
                throw DecodingError.dataCorruptedError(
                    in: container,
                    debugDescription: "\"\(text)\" is not a time such as 2026-11-20T08:00:00Z")
            }
            return instant.date
        }
        return decoder
    }()

    /// Describes a decoding error in one line, with the path of the field.
    static func explain(_ error: any Error) -> String {
        func at(_ path: [any CodingKey]) -> String {
            path.isEmpty ? "" : " at " + path.map(\.stringValue).joined(separator: ".")
        }
        switch error {
        case DecodingError.keyNotFound(let key, let context):
            return "\"\(key.stringValue)\" is missing" + at(context.codingPath)
        case DecodingError.typeMismatch(let type, let context):
            return "expected \(type)" + at(context.codingPath) + ": " + context.debugDescription
        case DecodingError.valueNotFound(let type, let context):
            return "expected \(type), found null" + at(context.codingPath)
        case DecodingError.dataCorrupted(let context):
            return context.debugDescription + at(context.codingPath)
        default:
            return String(describing: error)
        }
    }
}
