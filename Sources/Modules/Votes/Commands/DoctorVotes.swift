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
            findings.add(severity, of: "votes", what, count, remedy: remedy)
        }
        add(.critical, health.overdue, "votes open after their deadline", work)
        add(
            .critical, health.locked, "votes whose keys are not open, so that nobody can cast",
            "\(KeySettings.variable)=FILE \(work)")
        if let first = health.lost.first {
            let others = health.lost.count - 1
            findings.append(
                Finding(
                    check: "votes", severity: .critical,
                    message: "a restored dump lacks the key of vote \(first)"
                        + (others > 0 ? " and of \(HumanFormat.count(others)) others" : "")
                        + ", which cannot be counted",
                    remedy: "errand vote show \(first)  # then cancel it"))
        }
        if let holder = health.holders.first {
            findings.append(
                Finding(
                    check: "votes", severity: .warning,
                    message: "session \(holder.pid) of \(holder.role) (\(holder.applicationName)) "
                        + "has been in a transaction since \(HumanFormat.time(holder.since.date)), "
                        + "which delays the destruction of keys and so the publication of votes",
                    remedy:
                        "errand db status  # to end it: SELECT pg_terminate_backend(\(holder.pid))"
                ))
        }
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
