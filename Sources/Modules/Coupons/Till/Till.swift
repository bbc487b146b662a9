package import Errand
package import ErrandPostgres

/// A terminal of an establishment, which checks codes and redeems coupons.
package struct Till: Sendable {
    private let session: Session
    private let establishment: Int64
    private let terminal: String

    /// - Parameter terminal: unique in its establishment; 1 to 100 characters.
    package init(session: Session, establishment: Int64, terminal: String) {
        self.session = session
        self.establishment = establishment
        self.terminal = terminal
    }

    private static let verify = "SELECT \(TillAnswer.columns) FROM coupons.verify($1, $2, $3)"
    private static let redeem = "SELECT \(TillAnswer.columns) FROM coupons.redeem($1, $2, $3, $4)"
    private static let establishment = "SELECT FROM establishments.establishments WHERE id = $1"

    /// Whether the establishment exists.
    package var isThere: Bool {
        get async throws {
            try await !session.query(Self.establishment, [.int64(establishment)]).isEmpty
        }
    }

    /// Checks a code; only ``redeem(_:requestID:note:)`` prevents another redemption.
    package func verify(_ code: CouponCode) async throws -> TillAnswer {
        let rows = try await session.query(
            Self.verify, [.text(code.text), .int64(establishment), .text(terminal)])
        return try rows.map(TillAnswer.init)[0]
    }

    /// Redeems a coupon by its code; a repeated request gets the same confirmation.
    ///
    /// - Parameter note: returns the audit line of an accepted request.
    package func redeem(
        _ code: CouponCode, requestID: String, note: @Sendable (TillAnswer) -> AuditLine
    ) async throws -> TillAnswer {
        let statement = Statement(
            Self.redeem,
            [.text(code.text), .int64(establishment), .text(terminal), .text(requestID)])
        return try await session.transaction { session in
            let answer = try session.pipeline([statement])[0].map(TillAnswer.init)[0]
            if answer.isAccepted { _ = try session.pipeline([note(answer).statement]) }
            return answer
        }
    }
}
