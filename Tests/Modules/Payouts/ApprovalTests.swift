import ErrandLedger
import ErrandPayouts
import ErrandPostgres
import ErrandTestServices
import Testing

/// Four eyes: two persons, by their names and by their logins.
@Suite("Who may approve a run", .database) struct ApprovalTests {
    /// Closes the quarter by the functions of the jobs; returns the run.
    private func close(by actor: String, _ session: Session) async throws -> Int64 {
        let run = try await session.query(
            """
            SELECT payouts.run_of('2026-Q3', '2026-10-01T04:00:00Z', 'America/Toronto',
                '2026-10-15')
            """
        ).int64(0, 0)
        let chunks = try await session.query(
            "SELECT payouts.begin_close($1, clock_timestamp(), 1000, $2)",
            [.int64(run), .text(actor)]
        ).int32(0, 0)
        for chunk in 1...chunks {
            _ = try await session.query(
                "SELECT payouts.close_chunk($1, $2)", [.int64(run), .int32(chunk)])
        }
        _ = try await session.query("SELECT payouts.end_close($1)", [.int64(run)])
        return run
    }

    private func approve(_ run: Int64, as actor: String, _ session: Session) async throws {
        try await PayoutChanges(session: session, actor: actor).approve(
            run: run, reason: nil, isAcknowledged: true)
    }

    private func ground() async throws -> QuarterGround {
        let ground = try await QuarterGround(people: 1)
        try await ground.earn(1, 500, at: "2026-08-01T12:00:00Z")
        return ground
    }

    @Test func `one person with two spellings of a name is refused, also by another login`()
        async throws
    {
        let ground = try await ground()
        let (one, first) = try await TestDatabase.here().login(as: "errand")
        let (other, second) = try await TestDatabase.here().login(as: "errand")
        let run = try await close(by: "Mallory Strauß", one)
        for name in [
            "Mallory Strauß", "Mallory Strauß ", "mallory  strauß", "MALLORY STRAUSS",
            "\u{3000}Mallory\u{A0}Strauß", "Ｍallory Strauß", "Mal\u{200B}lory Strauß\u{FEFF}",
        ] {
            for session in [one, other] {
                let error = await refusal { try await approve(run, as: name, session) }
                guard case .refused(let words, _) = error else {
                    Issue.record("\(name): \(String(describing: error))")
                    continue
                }
                #expect(words.contains("another person must approve it"), "\(name): \(words)")
            }
        }
        for name in ["", " ", "\u{200B}"] {
            let error = await refusal { try await approve(run, as: name, other) }
            #expect(error == .invalid("actor: expected a name"))
        }
        try await approve(run, as: "Trent", other)
        let record = try #require(try await ground.run("2026-Q3"))
        #expect(record.state == .approved)
        #expect(record.closedBy == "Mallory Strauß" && record.closedByLogin == first)
        #expect(record.approvedBy == "Trent" && record.approvedByLogin == second)
        let changes = try await PayoutRows(session: ground.session).changes(ofRun: run, limit: 9)
        #expect(changes.first?.action == "approve" && changes.first?.login == second)
        #expect(changes.dropFirst().allSatisfy { $0.login == first })
        let audited = try await ground.session.query(
            "SELECT change ->> 'login' FROM errand.audit WHERE action = 'payout approve'"
        ).text(0, 0)
        #expect(audited == second)
        await one.close()
        await other.close()
    }

    @Test func `one login with two names is refused, unless a rule allows it`() async throws {
        let ground = try await ground()
        let (shared, name) = try await TestDatabase.here().login(as: "errand")
        let run = try await close(by: "Mallory", shared)
        let error = await refusal { try await approve(run, as: "Trent", shared) }
        guard case .refused(let words, let hint) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(words.contains("closed by the login \(name): another login must approve it"))
        #expect(hint?.contains("--allow-shared-login on") == true)
        // Another role in the same session is the same login.
        _ = try await shared.query("SET ROLE errand")
        let again = await refusal { try await approve(run, as: "Trent", shared) }
        #expect(again == error)
        try await ground.session.script("UPDATE payouts.rules SET allows_shared_login = true")
        let same = await refusal { try await approve(run, as: "mallory", shared) }
        #expect(same?.description.contains("another person must approve it") == true)
        try await approve(run, as: "Trent", shared)
        #expect(try await ground.run("2026-Q3")?.state == .approved)
        await shared.close()
    }

    @Test func `who closes by a worker's login and approves by the owner's has two logins`()
        async throws
    {
        let ground = try await ground()
        let (worker, name) = try await TestDatabase.here().login(as: "errand_worker")
        let run = try await close(by: Closing.scheduleActor, worker)
        try await approve(run, as: "Trent", ground.session)
        let record = try #require(try await ground.run("2026-Q3"))
        #expect(record.state == .approved && record.closedByLogin == name)
        await worker.close()
    }

    @Test func `a run whose closing login is not known needs the rule`() async throws {
        let ground = try await ground()
        let (worker, _) = try await TestDatabase.here().login(as: "errand_worker")
        let run = try await close(by: "ann", worker)
        await worker.close()
        try await ground.session.script("UPDATE payouts.runs SET closed_by_login = NULL")
        let error = await refusal { try await approve(run, as: "bob", ground.session) }
        #expect(error?.description.contains("another login must approve it") == true)
    }
}
