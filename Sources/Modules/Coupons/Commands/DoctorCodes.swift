import ErrandKeys
import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// What the doctor looks at for the sake of coupons' codes.
enum DoctorCodes {
    static func findings(of checkup: Checkup) async -> [Finding] {
        // What cannot be read is found elsewhere: servers, migrations, rights.
        guard let health = try? await CodeHealth.read(checkup.session) else { return [] }
        let hasKeys = Variables(all: checkup.environment)[KeySettings.variable] != nil
        var findings = turning(health, remedy: remedy(hasKeys))
        if health.alerts > 0 {
            findings.append(
                Finding(
                    check: "codes", grade: .warning,
                    found: "\(HumanFormat.count(health.alerts)) "
                        + (health.alerts == 1 ? "burst" : "bursts")
                        + " of wrong codes within the last hour, the last at "
                        + (health.alertAt ?? "an establishment that is gone"),
                    remedy: "errand coupon alerts --newer 1h"))
        }
        guard findings.isEmpty else { return findings }
        let words = health.series.map { series in
            "\(series.series.rawValue) every \(HumanFormat.notation(series.period)), "
                + "\(series.waiting) of \(series.ahead) ahead"
        }
        let isUsed = health.series.contains { $0.age != nil }
        return [
            Finding(
                check: "codes", grade: .ok,
                found: isUsed ? words.joined(separator: "; ") : "no coupon waits for them")
        ]
    }

    /// Turns them now, and says who is to do so from then on.
    private static func remedy(_ hasKeys: Bool) -> String {
        (hasKeys ? "" : "\(KeySettings.variable)=FILE ")
            + "errand coupon rotate  # and let a worker do so that has "
            + (hasKeys ? "the keys, too" : "the FILE of 'errand key new', too")
            + ": errand work --queues \(RotateCodes.options.queue)"
    }

    private static func turning(_ health: CodeHealth, remedy: String) -> [Finding] {
        guard health.series.contains(where: { $0.age != nil }) else {
            guard health.hasCoupons else { return [] }
            return [
                Finding(
                    check: "codes", grade: .warning,
                    found: "there are coupons, and no worker has ever made codes for them",
                    remedy: remedy)
            ]
        }
        return health.series.compactMap { series in
            let name = series.series.rawValue
            if let age = series.age, age > series.period * 2 {
                return Finding(
                    check: "codes", grade: .critical,
                    found: "\(name) codes should turn every \(HumanFormat.notation(series.period)) "
                        + "and have not for \(HumanFormat.duration(age)): nobody rotates",
                    remedy: remedy)
            }
            if series.closed > 0 {
                return Finding(
                    check: "codes", grade: .critical,
                    found: "\(HumanFormat.count(series.closed)) secrets of \(name) codes are "
                        + "sealed: these cannot be made or checked since PostgreSQL crashed",
                    remedy: remedy)
            }
            guard series.age == nil || series.waiting * 4 < series.ahead else { return nil }
            return Finding(
                check: "codes", grade: .warning,
                found: "\(series.waiting) of \(series.ahead) epochs of \(name) codes are left: "
                    + "nobody makes new ones, and codes will stop turning",
                remedy: remedy)
        }
    }
}
