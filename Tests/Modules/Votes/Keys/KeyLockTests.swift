import ErrandPostgres
import ErrandTestServices
import Testing

/// What sessions hold up, as keys are destroyed.
@Suite("Locks of the keys of votes", .database) struct KeyLockTests {
    private static let destroy = "SELECT progress FROM votes.destroy_keys()"

    /// A vote that is counted and not published.
    private func counted(_ ground: VoteGround) async throws -> Int64 {
        let vote = try await ground.open()
        try await ground.vote(vote, 2)
        _ = try await ground.session.query(
            "SELECT votes.close($1, true), votes.count_ballots($1)", [.int64(vote)])
        return vote
    }

    @Test func `a login without rights that locks the sequences stops no publication`()
        async throws
    {
        let ground = try await VoteGround()
        let search = try await LinkSearch()
        let vote = try await ground.open()
        try await ground.vote(vote, 2)
        let secrets = try await search.secrets(of: vote)
        _ = try await ground.session.query(
            "SELECT votes.close($1, true), votes.count_ballots($1)", [.int64(vote)])
        let attacker = try TestDatabase.here().session()
        let sequences = try await attacker.query(
            """
            SELECT c.oid::text FROM pg_class c
            WHERE c.relnamespace = 'votes'::regnamespace AND c.relname LIKE 'wrapping%'
              AND c.relkind = 'S'
            """
        ).map { try $0.text(0) }
        #expect(sequences.count == 4)
        // A sequence is locked before the right to it is checked, and the lock outlives the error.
        try await attacker.script("SET ROLE errand_autoscaler; BEGIN")
        for sequence in sequences {
            try await attacker.script("SAVEPOINT before")
            await #expect(throws: PostgresError.self) {
                try await attacker.script("SELECT nextval(\(sequence)::oid::regclass)")
            }
            try await attacker.script("ROLLBACK TO before")
        }
        _ = try await ground.session.query("SELECT votes.rotate_wrapping_key()")
        #expect(try await ground.texts(Self.destroy) == ["waiting"])
        // Until a checkpoint, the disk has the key: another test may have caused one by now.
        let emptied = try await ground.texts("SELECT emptied_at::text FROM votes.wrapping")[0]
        let progress = try await ground.texts(Self.destroy)
        let isWritten = try await ground.texts(
            "SELECT (redo_lsn >= '\(emptied)')::text FROM pg_control_checkpoint()")
        #expect(progress == ["waiting"] || isWritten == ["true"], "\(progress)")
        #expect(
            try await ground.texts("SELECT state::text FROM votes.votes WHERE id = \(vote)")
                == ["counted"])
        let holders = "SELECT pid::text FROM votes.key_holders('0')"
        let pid = try await attacker.query("SELECT pg_backend_pid()::text").text(0, 0)
        #expect(try await ground.texts(holders) == [pid])
        // The server makes one every few minutes.
        try await search.script("CHECKPOINT")
        #expect(try await ground.texts(Self.destroy) == ["done"])
        _ = try await ground.session.query("SELECT votes.publish($1)", [.int64(vote)])
        #expect(try await ground.state(vote).hasPrefix("published"))
        #expect(try await search.links(of: vote) == [:])
        #expect(try await search.places(of: secrets.wrapping + [secrets.share]) == [])
        try await attacker.script("ROLLBACK")
        // The next ones are destroyed at once again.
        let next = try await counted(ground)
        try await ground.destroyKeys()
        _ = try await ground.session.query("SELECT votes.publish($1)", [.int64(next)])
        await attacker.close()
        await search.close()
    }

    @Test func `a vote that is opened while keys are destroyed is counted`() async throws {
        let ground = try await VoteGround()
        let vote = try await counted(ground)
        let app = try TestDatabase.here().session()
        try await app.script("BEGIN")
        let late = try await app.query(
            """
            SELECT votes.open('S', '{a,b}', 1, clock_timestamp() + interval '1 hour')
            """
        ).int64(0, 0)
        _ = try await ground.session.query("SELECT votes.rotate_wrapping_key()")
        #expect(try await ground.refusal(Self.destroy, []) == "55P03")
        try await app.script("COMMIT")
        await app.close()
        #expect(try await ground.texts(Self.destroy) == ["again"])
        #expect(try await ground.texts(Self.destroy) == ["done"])
        _ = try await ground.session.query("SELECT votes.publish($1)", [.int64(vote)])
        try await ground.vote(late, 2)
        _ = try await ground.session.query(
            "SELECT votes.close($1, true), votes.count_ballots($1)", [.int64(late)])
        #expect(
            try await ground.number("SELECT ballots::bigint FROM votes.votes WHERE id = \(late)")
                == 1)
        #expect(try await ground.number("SELECT count(*) FROM votes.lost_votes()") == 0)
    }

    @Test func `a ballot in an open transaction delays no other vote`() async throws {
        let ground = try await VoteGround()
        let vote = try await counted(ground)
        let other = try await ground.open()
        _ = try await ground.session.query(
            "SELECT votes.join($1, 3, 'P')", [.int64(other)])
        let app = try TestDatabase.here().session()
        try await app.script("BEGIN")
        _ = try await app.query("SELECT votes.cast($1, 3, '{1}')", [.int64(other)])
        _ = try await ground.session.query("SELECT votes.rotate_wrapping_key()")
        #expect(try await ground.texts(Self.destroy) == ["waiting"])
        try await app.script("CHECKPOINT")
        #expect(try await ground.texts(Self.destroy) == ["done"])
        _ = try await ground.session.query("SELECT votes.publish($1)", [.int64(vote)])
        try await app.script("COMMIT")
        await app.close()
        _ = try await ground.session.query(
            "SELECT votes.close($1, true), votes.count_ballots($1)", [.int64(other)])
        #expect(
            try await ground.number("SELECT ballots::bigint FROM votes.votes WHERE id = \(other)")
                == 1)
    }
}
