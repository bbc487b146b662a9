import ErrandCoupons
import Foundation
import Errand
import Testing

@Suite("Rules for reports of a position") struct PositionRulesTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var age: TimeInterval = 0
        var accuracy: Double = 10
        var longitude = 2.35
        var latitude = 48.85
        /// What the objection must say; nil for a good report.
        var objection: String?

        init(
            _ what: String, age: TimeInterval = 0, accuracy: Double = 10, longitude: Double = 2.35,
            latitude: Double = 48.85, says objection: String? = nil
        ) {
            testDescription = what
            self.age = age
            self.accuracy = accuracy
            self.longitude = longitude
            self.latitude = latitude
            self.objection = objection
        }
    }

    @Test(
        "a report is judged by its time, accuracy and place",
        arguments: [
            Case("fresh"),
            Case("599.999 s old", age: 599.999),
            Case("exactly 600 s old", age: 600),
            Case("a millisecond more", age: 600.001, says: "too old: 600 s; the limit is 600 s"),
            Case("an hour old", age: 3_600, says: "too old: 3600 s; the limit is 600 s"),
            Case("exactly 60 s ahead", age: -60),
            Case(
                "a millisecond more ahead", age: -60.001,
                says: "from the future: 60 s ahead of our clock"),
            Case(
                "ten minutes ahead", age: -600, says: "from the future: 600 s ahead of our clock"),
            Case("hair's breadth", accuracy: 0.001),
            Case("accuracy 0", accuracy: 0, says: "accuracy 0 m: expected more than 0"),
            Case("invalid fix of iOS", accuracy: -1, says: "accuracy -1 m: expected more than 0"),
            Case("no number", accuracy: .nan, says: "accuracy nan m: expected more than 0"),
            Case("the widest radius", accuracy: 5_000),
            Case(
                "wider than any", accuracy: 5_000.6,
                says: "accuracy 5001 m is worse than any offer's radius"),
            Case(
                "absurd", accuracy: 1e300,
                says: "accuracy 1000000 m is worse than any offer's radius"),
            Case("endless", accuracy: .infinity, says: "accuracy inf m is worse than any offer's"),
            Case("the corner of the map", longitude: 180, latitude: -90),
            Case(
                "east of the map", longitude: 180.001,
                says: "position 180.001 48.85: expected longitude -180 to 180, then latitude"),
            Case("north of the map", latitude: 90.001, says: "position 2.35 90.001: expected"),
            Case("nowhere", longitude: .nan, says: "position nan 48.85: expected"),
            Case(
                "old and poor: the age is told", age: 700, accuracy: 9_000, says: "too old: 700 s"),
        ])
    func judgement(of each: Case) {
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        let objection = PositionRules.objection(
            to: PositionReport(
                personID: 1, longitude: each.longitude, latitude: each.latitude,
                accuracy: each.accuracy, at: now.addingTimeInterval(-each.age)),
            now: now)
        guard let expected = each.objection else {
            #expect(objection == nil)
            return
        }
        #expect(objection?.hasPrefix(expected) == true, "\(objection ?? "no objection")")
    }

    @Test(
        "a report's accuracy must be as good as the radius",
        arguments: [
            (149.9, 150.0, nil), (150.0, 150.0, nil),
            (151.0, 150.0, "accuracy 151 m is worse than the radius of 150 m"),
            (5_000.0, 10.0, "accuracy 5000 m is worse than the radius of 10 m"),
        ] as [(Double, Double, String?)])
    func accuracyBesideRadius(accuracy: Double, radius: Double, objection: String?) {
        #expect(
            PositionRules.objection(toAccuracy: accuracy, widestRadius: radius) == objection)
    }

    @Test func `a report is too old before its last attempt`() {
        let options = PositionReport.options
        let wait = (1..<options.maxAttempts).map { options.backoff.delay(after: $0, chance: 1) }
            .reduce(.zero, +)
        #expect(wait > .seconds(PositionRules.oldest + PositionRules.clockTolerance))
    }
}
