package import Errand
package import ErrandPostgres

/// A coupon to grant to a person.
package struct Grant: Sendable {
    package var personID: Int64
    package var establishmentID: Int64
    package var title: String
    package var expiresAt: Instant
    /// The reason for the grant; a person gets one coupon per origin.
    package var origin: String
    /// Start of the validity; now when nil.
    package var validFrom: Instant?

    package init(
        personID: Int64, establishmentID: Int64, title: String, expiresAt: Instant,
        origin: String, validFrom: Instant? = nil
    ) {
        self.personID = personID
        self.establishmentID = establishmentID
        self.title = title
        self.expiresAt = expiresAt
        self.origin = origin
        self.validFrom = validFrom
    }

    /// The result of a grant.
    package enum Result: Sendable, Equatable {
        case granted(Int64)
        /// The person already has a coupon of this origin; it is unchanged.
        case existing(Int64)
        case unknownPerson, unknownEstablishment
        /// The expiry is in the past or not after the start of the validity.
        case expired
        /// The person has a coupon of this origin with other content.
        case conflict(Int64, String)
        /// The person gets no coupons, or the establishment is closed; the hint is the next step.
        case refused(String, hint: String?)
    }

    private static let check = """
        SELECT EXISTS (SELECT FROM people.people WHERE id = $1) AS has_person,
            EXISTS (SELECT FROM establishments.establishments WHERE id = $2) AS has_establishment,
            $5 > coalesce($4, clock_timestamp()) AS has_time,
            (SELECT id FROM coupons.coupons WHERE person_id = $1 AND origin = $3) AS existing
        """
    private static let known = """
        SELECT id FROM coupons.coupons WHERE person_id = $1 AND origin = $2
        """
    private static let grant = """
        SELECT coupons.grant_coupon($1, $2, $3, $4, $5, $6) AS id
        """

    /// Grants the coupon and writes its audit line in one transaction.
    ///
    /// - Parameter note: returns the audit line of a new coupon, by its id.
    package func run(
        by session: Session, note: @Sendable (Int64) -> AuditLine
    ) async throws -> Result {
        do {
            return try await session.transaction { session in
                try grant(by: session, note: note)
            }
        } catch let PostgresError.server(error) where error.sqlState == "23505" {
            let known = try await session.query(
                Self.known, [.int64(personID), .text(origin)]
            ).int64(0, 0)
            return .conflict(known, error.message)
        } catch let PostgresError.server(error) where error.sqlState == "RU001" {
            return .refused(error.message, hint: error.hint)
        }
    }

    private func grant(
        by session: isolated Session, note: @Sendable (Int64) -> AuditLine
    ) throws -> Result {
        let found = try session.query(
            Self.check,
            [
                .int64(personID), .int64(establishmentID), .text(origin), .optional(validFrom),
                .timestamp(expiresAt),
            ])
        let existing = try found.first?.optionalInt64("existing")
        if existing == nil {
            guard try found.first?.bool("has_person") == true else { return .unknownPerson }
            guard try found.first?.bool("has_establishment") == true else {
                return .unknownEstablishment
            }
            guard try found.first?.bool("has_time") == true else { return .expired }
        }
        let id = try session.query(
            Self.grant,
            [
                .int64(personID), .int64(establishmentID), .text(title), .timestamp(expiresAt),
                .text(origin), .optional(validFrom),
            ]
        ).int64(0, 0)
        if existing != nil { return .existing(id) }
        _ = try session.pipeline([note(id).statement])
        return .granted(id)
    }
}
