import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// The doctor's checks of the household module: time zones and chores.
enum DoctorHouseholds {
    static func findings(of context: ModuleContext) async -> [Finding] {
        // Other checks report why the read failed: servers, migrations, rights.
        guard let health = try? await HouseholdHealth.read(context.session), health.groups > 0
        else { return [] }
        var findings = health.badZones.map { zone in
            Finding(
                check: "households", severity: .critical,
                message: "\(zone.fault): chores of \(HumanFormat.count(zone.groups)) groups in "
                    + "\(zone.name) are not scheduled",
                remedy: "errand household ls --zone \(zone.name)")
        }
        if health.faultyChores > 0 {
            findings.append(
                Finding(
                    check: "households", severity: .note,
                    message: "chores that are not scheduled until a roommate changes them: "
                        + HumanFormat.count(health.faultyChores),
                    remedy: "errand household chores GROUP --faulty"))
        }
        return findings.isEmpty
            ? [
                Finding(
                    check: "households", severity: .ok,
                    message: "\(HumanFormat.count(health.groups)) groups, all time zones are valid")
            ] : findings
    }
}
