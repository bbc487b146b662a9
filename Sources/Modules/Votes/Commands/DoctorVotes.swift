import ErrandKeys
import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// The doctor's checks of votes.
enum DoctorVotes {
    static func findings(of context: ModuleContext) async -> [Finding] {
        // Other checks report unreadable tables: servers, migrations, rights.
        guard let health = try? await VoteHealth.read(context.session, now: .now()),
            health.votes > 0
        else { return [] }
        let work = "errand work --queues \(CountVote.options.queue)"
        var findings: [Finding] = []
        func add(_ severity: Finding.Severity, _ count: Int, _ what: String, _ remedy: String) {
            guard count > 0 else { return }
            findings.append(
                Finding(
                    check: "votes", severity: severity,
                    message: "\(what): \(HumanFormat.count(count))",
                    remedy: remedy))
        }
        add(.critical, health.overdue, "votes open after their deadline", work)
        add(
            .critical, health.locked, "votes whose keys are not open, so that nobody can cast",
            "\(KeySettings.variable)=FILE \(work)")
        add(
            .critical, health.lost,
            "votes whose keys a restored dump lacks, so that they cannot be counted and must be "
                + "cancelled", "errand vote ls --state open")
        add(
            .warning, health.unpublished, "closed votes without a result",
            "errand job ls --queue \(CountVote.options.queue)")
        add(
            .warning, health.unreviewed, "votes in review after the time limit", work)
        add(
            .note, health.inReview, "votes in review of equal names",
            "errand vote ls --state review")
        if health.keys * 10 < health.keysAhead {
            findings.append(
                Finding(
                    check: "votes", severity: health.keys == 0 ? .critical : .warning,
                    message:
                        "\(health.keys) of \(health.keysAhead) keys are ready for new votes",
                    remedy: "\(KeySettings.variable)=FILE \(work)"))
        }
        return findings.isEmpty
            ? [
                Finding(
                    check: "votes", severity: .ok,
                    message: "\(HumanFormat.count(health.votes)) votes, none is late; "
                        + "\(HumanFormat.count(health.keys)) keys ready")
            ]
            : findings
    }
}
