import ErrandCoupons
import Foundation
import ErrandTestServices
import Testing

@Suite("Distances to branches", .database) struct DistanceTests {
    @Test func `the measure of these tests agrees with published distances`() {
        // GeographicLib's manual: New York JFK to London Heathrow; then degrees of the spheroid.
        #expect(abs(Earth.distance(Place(-73.8, 40.6), Place(-0.5, 51.6)) - 5_551_759.400) < 0.01)
        #expect(abs(Earth.distance(Place(0, 0), Place(1, 0)) - 111_319.491) < 0.001)
        #expect(abs(Earth.distance(Place(0, 0), Place(0, 1)) - 110_574.389) < 0.001)
    }

    struct Walk: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var branch: Place
        /// Degrees east and north.
        var step: (east: Double, north: Double)
        var radius: Double

        init(
            _ what: String, _ branch: Place, east: Double, north: Double, radius: Double
        ) {
            testDescription = "\(what), \(Int(radius)) m"
            self.branch = branch
            step = (east, north)
            self.radius = radius
        }
    }

    @Test(
        "within the radius tells, a hand's breadth outside does not",
        arguments: [
            Walk("Montréal, east", .montreal, east: 1, north: 0, radius: 150),
            Walk("Montréal, north", .montreal, east: 0, north: 1, radius: 150),
            Walk("Montréal, south-west", .montreal, east: -1, north: -1, radius: 10),
            // On a sphere these would be wrong by 28 and 16 metres.
            Walk("Quito, north", Place(-78.5, 0), east: 0, north: 1, radius: 5_000),
            Walk("Tromsø, east", Place(18.95, 69.65), east: 1, north: 0, radius: 5_000),
            Walk("Ushuaia, south", Place(-68.3, -54.8), east: 0.1, north: -1, radius: 800),
            Walk(
                "Fiji, over the date line", Place(179.9999, -16.8), east: 1, north: 0, radius: 300),
            Walk("back over the date line", Place(-179.9999, 66), east: -1, north: 0, radius: 300),
            Walk("near the pole", Place(10, 89.9), east: 170, north: 0, radius: 2_000),
        ])
    func border(walk: Walk) async throws {
        let town = try Town()
        let person = try await town.person()
        let establishment = try await town.establishment(at: walk.branch)
        _ = try await town.coupon(of: person, at: establishment, radius: walk.radius)

        let outside = Earth.place(walk.radius + 0.05, from: walk.branch, towards: walk.step)
        #expect(Earth.distance(walk.branch, outside) > walk.radius)
        let silent = try await town.look(person, at: outside)
        #expect(silent.objection == nil)
        #expect(silent.notices.isEmpty)

        let inside = Earth.place(walk.radius - 0.05, from: walk.branch, towards: walk.step)
        let told = try await town.look(person, at: inside)
        #expect(told.notices.count == 1)
        let distance = try #require(try await town.notices().first?.distance)
        #expect(abs(distance - Earth.distance(walk.branch, inside)) < 0.001)
    }

    @Test func `two hundred places drawn by lot are judged as the formula judges them`()
        async throws
    {
        let town = try Town()
        var lot = SplitMix(seed: 20_260_615)
        var stands: [(person: Int64, place: Place)] = []
        var expected: Set<Int64> = []
        for _ in 0..<200 {
            let branch = Place(
                .random(in: -180...180, using: &lot), .random(in: -80...80, using: &lot))
            let radius = Double.random(in: 10...5_000, using: &lot).rounded()
            let metres = radius * .random(in: 0.9...1.1, using: &lot)
            let place = Earth.place(
                metres, from: branch,
                towards: (.random(in: -1...1, using: &lot), .random(in: -1...1, using: &lot)))
            let person = try await town.person()
            let establishment = try await town.establishment(at: branch)
            _ = try await town.coupon(of: person, at: establishment, radius: radius)
            stands.append((person, place))
            if Earth.distance(branch, place) <= radius { expected.insert(person) }
        }
        let findings = try await town.look(stands)
        #expect(findings.allSatisfy { $0.objection == nil })
        let told = zip(stands, findings).filter { !$0.1.notices.isEmpty }.map(\.0.person)
        #expect(Set(told) == expected)
        #expect((60..<140).contains(expected.count))
    }
}
