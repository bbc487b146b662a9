import ErrandKeys
import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// The doctor's checks of coupon codes.
enum DoctorCodes {
    static func findings(of context: ModuleContext) async -> [Finding] {
        // Other checks report why it cannot be read: servers, migrations, rights.
        guard let health = try? await CodeHealth.read(context.session) else { return [] }
        let hasKeys = Variables(all: context.environment)[KeySettings.variable] != nil
        var findings = turning(health, remedy: remedy(hasKeys))
        if health.alerts > 0 {
            findings.append(
                Finding(
                    check: "codes", severity: .warning,
                    message: "\(HumanFormat.count(health.alerts)) "
                        + (health.alerts == 1 ? "burst" : "bursts")
                        + " of wrong codes within the last hour, the last at "
                        + (health.alertAt ?? "a deleted establishment"),
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
                check: "codes", severity: .ok,
                message: isUsed ? words.joined(separator: "; ") : "no coupons need codes")
        ]
    }

    /// The commands that rotate the codes now and from then on.
    private static func remedy(_ hasKeys: Bool) -> String {
        (hasKeys ? "" : "\(KeySettings.variable)=FILE ")
            + "errand coupon rotate  # then start a worker with "
            + (hasKeys ? "these keys" : "the FILE of 'errand key new'")
            + ": errand work --queues \(RotateCodes.options.queue)"
    }

    private static func turning(_ health: CodeHealth, remedy: String) -> [Finding] {
        guard health.series.contains(where: { $0.age != nil }) else {
            guard health.hasCoupons else { return [] }
            return [
                Finding(
                    check: "codes", severity: .warning,
                    message: "coupons exist, but no worker has ever created codes for them",
                    remedy: remedy)
            ]
        }
        return health.series.compactMap { series in
            let name = series.series.rawValue
            if let age = series.age, age > series.period * 2 {
                return Finding(
                    check: "codes", severity: .critical,
                    message: "\(name) codes have not rotated for \(HumanFormat.duration(age)); "
                        + "they should rotate every \(HumanFormat.notation(series.period))",
                    remedy: remedy)
            }
            if series.closed > 0 {
                return Finding(
                    check: "codes", severity: .critical,
                    message: "\(HumanFormat.count(series.closed)) secrets of \(name) codes are "
                        + "sealed since PostgreSQL crashed: their codes cannot be checked",
                    remedy: remedy)
            }
            guard series.age == nil || series.waiting * 4 < series.ahead else { return nil }
            return Finding(
                check: "codes", severity: .warning,
                message: "\(series.waiting) of \(series.ahead) epochs of \(name) codes are left: "
                    + "no worker creates new ones, and codes will stop rotating",
                remedy: remedy)
        }
    }
}
