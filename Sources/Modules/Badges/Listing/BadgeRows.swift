package import ErrandPostgres

/// What a person has of a kind of badge, or of a kind and an establishment.
package struct BadgeRecord: Sendable {
    package var kind: String
    package var title: String
    /// Of a kind that counts establishments apart.
    package var establishment: Int64?
    package var establishmentName: String?
    /// The highest level; nil for none yet.
    package var level: Int?
    package var earnedAt: Instant?
    package var progress: Int
    /// Nil after the last level.
    package var nextLevel: Int?

    init(_ row: Row) throws {
        kind = try row.text("kind")
        title = try row.text("title")
        establishment = try row.optionalInt64("establishment_id")
        establishmentName = try row.optionalText("establishment")
        level = try row.optionalInt64("level").map(Int.init)
        earnedAt = try row.optionalTimestamp("earned_at")
        progress = Int(try row.int32("progress"))
        nextLevel = try row.optionalInt64("next_level").map(Int.init)
    }
}

/// A kind of badge.
package struct BadgeKindRecord: Sendable {
    package var kind: String
    package var title: String
    package var deed: String
    package var isByEstablishment: Bool
    package var levels: [Int32]
    /// The modules that know the deeds.
    package var sources: [String]

    init(_ row: Row) throws {
        kind = try row.text("kind")
        title = try row.text("title")
        deed = try row.text("deed")
        isByEstablishment = try row.bool("by_establishment")
        levels = try row.int32Array("levels")
        sources = try row.textArray("sources")
    }
}

/// The recount that ended last.
package struct RecountRecord: Sendable {
    package var endedAt: Instant
    package var people: Int
    package var corrected: Int
    package var awarded: Int
}

/// Reads badges, their kinds and the recounts.
package struct BadgeRows: Sendable {
    let session: Session

    package init(session: Session) { self.session = session }

    private static let ofPerson = """
        SELECT kind, title, establishment_id, establishment, level::bigint, earned_at, progress,
            next_level::bigint
        FROM badges.of_person($1, $2)
        """

    /// Returns what a person has of each kind; none if there is no such person.
    package func badges(of person: Int64, limit: Int) async throws -> [BadgeRecord] {
        try await session.query(Self.ofPerson, [.int64(person), .int32(Int32(clamping: limit))])
            .map(BadgeRecord.init)
    }

    private static let kinds = """
        SELECT k.kind, k.title, k.deed, k.by_establishment, k.levels,
            ARRAY(SELECT s.module::text FROM badges.sources s WHERE s.deed = k.deed ORDER BY 1)
                AS sources
        FROM badges.kinds k ORDER BY k.kind
        """

    /// Returns the kinds of badges.
    package func kinds() async throws -> [BadgeKindRecord] {
        try await session.query(Self.kinds).map(BadgeKindRecord.init)
    }

    private static let recount = """
        SELECT ended_at, people, corrected, awarded FROM badges.recounts
        WHERE ended_at IS NOT NULL ORDER BY id DESC LIMIT 1
        """

    /// Returns the recount that ended last; nil if there was none.
    package func lastRecount() async throws -> RecountRecord? {
        try await session.query(Self.recount).first.map { row in
            RecountRecord(
                endedAt: try row.timestamp("ended_at"), people: Int(try row.int64("people")),
                corrected: Int(try row.int64("corrected")),
                awarded: Int(try row.int64("awarded")))
        }
    }

    private static let installed = """
        SELECT installed_at FROM errand.modules WHERE name = 'badges'
        """

    /// Returns when the module was installed.
    package func installedAt() async throws -> Instant? {
        try await session.query(Self.installed).first?.timestamp("installed_at")
    }
}
