import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// What the doctor looks at for the sake of room-mates.
enum DoctorHouseholds {
    static func findings(of checkup: Checkup) async -> [Finding] {
        // What cannot be read is found elsewhere: servers, migrations, rights.
        guard let health = try? await HouseholdHealth.read(checkup.session), health.groups > 0
        else { return [] }
        var findings = health.badZones.map { zone in
            Finding(
                check: "households", grade: .critical,
                found: "\(zone.fault): the chores of \(HumanFormat.count(zone.groups)) groups of "
                    + "\(zone.name) do not come",
                remedy: "errand household ls --zone \(zone.name)")
        }
        if health.faultyChores > 0 {
            findings.append(
                Finding(
                    check: "households", grade: .note,
                    found: "chores that do not come until their room-mates change them: "
                        + HumanFormat.count(health.faultyChores),
                    remedy: "errand household chores GROUP --faulty"))
        }
        return findings.isEmpty
            ? [
                Finding(
                    check: "households", grade: .ok,
                    found: "\(HumanFormat.count(health.groups)) groups, all zones can be used")
            ] : findings
    }
}
