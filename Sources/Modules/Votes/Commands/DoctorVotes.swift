import ErrandKeys
import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// What the doctor looks at for the sake of votes.
enum DoctorVotes {
    static func findings(of checkup: Checkup) async -> [Finding] {
        // What cannot be read is found elsewhere: servers, migrations, rights.
        guard let health = try? await VoteHealth.read(checkup.session, now: .now()),
            health.votes > 0
        else { return [] }
        let work = "errand work --queues \(CountVote.options.queue)"
        var findings: [Finding] = []
        func add(_ grade: Finding.Grade, _ count: Int, _ what: String, _ remedy: String) {
            guard count > 0 else { return }
            findings.append(
                Finding(
                    check: "votes", grade: grade, found: "\(what): \(HumanFormat.count(count))",
                    remedy: remedy))
        }
        add(.critical, health.overdue, "votes that should have closed and are open", work)
        add(
            .critical, health.locked, "votes whose keys are not open, so that nobody can cast",
            "\(KeySettings.variable)=FILE \(work)")
        add(
            .warning, health.unpublished, "votes that were closed and have no result yet",
            "errand job ls --queue \(CountVote.options.queue)")
        add(
            .warning, health.unreviewed, "votes in review for longer than the rules say", work)
        add(
            .note, health.inReview, "votes whose initiators look at equal names",
            "errand vote ls --state review")
        if health.keys * 10 < health.keysAhead {
            findings.append(
                Finding(
                    check: "votes", grade: health.keys == 0 ? .critical : .warning,
                    found: "\(health.keys) of \(health.keysAhead) keys are ready for votes to come",
                    remedy: "\(KeySettings.variable)=FILE \(work)"))
        }
        return findings.isEmpty
            ? [
                Finding(
                    check: "votes", grade: .ok,
                    found: "\(HumanFormat.count(health.votes)) votes, none is late; "
                        + "\(HumanFormat.count(health.keys)) keys ahead")
            ]
            : findings
    }
}
