package import FoundationEssentials
package import Errand

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
