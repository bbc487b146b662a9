package import FoundationEssentials
package import JobQueue
package import Notifications
import Postgres

/// Where a person was at a time: looks for branches near by whose coupons they hold.
///
/// `coupons.report_position()` enqueues it, a person's waiting reports merged into the newest.
package struct PositionReport: Job {
    package static let kind = "coupons.position"
    /// With so many attempts a report is too old before its last one: where somebody was must not
    /// become a dead letter, which is kept until a person acts on it.
    package static let options = JobOptions(
        queue: "coupons", priority: .high, maxAttempts: 20, backoff: Backoff(base: 5, ceiling: 60),
        retention: .seconds(86_400))
    /// Where somebody was is shown to nobody unasked.
    package static let sensitive: Set<String> = ["longitude", "latitude"]

    package var personID: Int64
    /// WGS 84, degrees.
    package var longitude: Double
    package var latitude: Double
    /// Radius of the circle that the device vouches for, in metres.
    package var accuracy: Double
    package var at: Date

    enum CodingKeys: String, CodingKey {
        case personID = "person_id"
        case longitude, latitude
        case accuracy = "accuracy_m"
        case at
    }

    package init(
        personID: Int64, longitude: Double, latitude: Double, accuracy: Double, at: Date
    ) {
        self.personID = personID
        self.longitude = longitude
        self.latitude = latitude
        self.accuracy = accuracy
        self.at = at
    }
}

/// The jobs of the coupon domain.
package enum CouponKinds {
    /// Reports looked at in one statement.
    package static let batchLimit = 500

    /// How the domain's notices read.
    package static let templates = [nearby, expiring]

    /// Adds the kinds to those of a program, with their schedules.
    package static func add(to kinds: inout JobKinds) {
        kinds.handleBatch(PositionReport.self, upTo: batchLimit) { batch in
            try await Proximity.handle(batch)
        }
        kinds.handle(RemindOfExpiry.self) { _, context in try await Expiry.handle(context) }
        do { kinds.schedule(try expirySchedule()) } catch { preconditionFailure("\(error)") }
    }

    /// How the notice of a coupon near by reads.
    package static let nearby = NoticeTemplate("coupon.nearby", consent: .location) {
        (facts: NearbyFacts) in
        let distance = Int((facts.distance / 10).rounded() * 10)
        let title = NoticeTemplate.escaped(facts.title)
        let branch = NoticeTemplate.escaped(facts.branch)
        return NoticeTemplate.Words(
            subject: "\(facts.title), \(distance) m from you",
            text: """
                You are about \(distance) m from \(facts.branch), where your coupon counts:

                    \(facts.title)

                It is good until \(facts.lastDay). Show it in the app.

                You get this because you asked for offers near you; turn it off in the app.
                """,
            html: """
                <p>You are about \(distance) m from <b>\(branch)</b>, where your coupon counts:</p>
                <p style="font-size: 140%">\(title)</p>
                <p>It is good until \(facts.lastDay). Show it in the app.</p>
                <p style="color: #666">You get this because you asked for offers near you; turn \
                it off in the app.</p>
                """)
    }

    struct NearbyFacts: Decodable {
        var title: String
        var branch: String
        var distance: Double
        /// As `2026-11-20`.
        var lastDay: String

        enum CodingKeys: String, CodingKey {
            case title, branch, distance
            case lastDay = "last_day"
        }
    }
}
