package import FoundationEssentials
package import Errand

/// A person's position at a time; the job finds nearby branches that accept their coupons.
///
/// `coupons.report_position()` enqueues it and merges a person's waiting reports into the newest.
package struct PositionReport: Job {
    package static let kind = "coupons.position"
    /// With 20 attempts a report is too old before the last one: a position must not become a
    /// dead letter, which is kept until an operator handles it.
    package static let options = JobOptions(
        queue: "coupons", priority: .high, maxAttempts: 20, backoff: Backoff(base: 5, ceiling: 60),
        retention: .seconds(86_400))
    /// Commands hide the position unless asked to show it.
    package static let sensitive: Set<String> = ["longitude", "latitude"]

    package var personID: Int64
    /// WGS 84, degrees.
    package var longitude: Double
    package var latitude: Double
    /// Radius of the position's uncertainty, in metres, as the device reports it.
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
