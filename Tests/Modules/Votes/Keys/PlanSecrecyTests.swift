import Errand
import ErrandPostgres
import ErrandTestServices
import ErrandVotes
import Foundation
import Testing

/// A login may ask for the plans of all statements that it causes, with the values in them.
@Suite("Keys of votes and plans", .database) struct PlanSecrecyTests {
    @Test func `plans that a login asks for show no key`() async throws {
        let ground = try await VoteGround()
        let vote = try await ground.open(password: "geheim", atMost: 2)
        for person in 2...4 as ClosedRange<Int64> {
            try await ground.join(vote, person, password: "geheim")
        }
        let secrets = try await ground.session.query(
            """
            SELECT o.cipher_key FROM votes.open_keys o
            UNION ALL SELECT o.mac_key FROM votes.open_keys o
            UNION ALL SELECT k.cipher_key FROM votes.link_keys($1) k
            UNION ALL SELECT votes.wrapping_key(w.slot) FROM votes.wrapping w
            """, [.int64(vote)]
        ).map { try $0.bytes(0) }
        #expect(secrets.count >= 10)
        let nonce = "decode(repeat('ab', 32), 'hex')"
        let plans = try await plans(
            of: """
                SELECT votes.join(\(vote), 5, 'Bo', 'Door', 'geheim');
                SELECT votes.join(\(vote), 6, 'Cy', 'Door', 'falsch');
                SELECT votes.cast(\(vote), 2, '{1}', 'geheim', \(nonce));
                SELECT votes.cast(\(vote), 3, '{1,2}', 'geheim', \(nonce));
                SELECT votes.cast(\(vote), 3, '{1,2}', 'geheim', \(nonce));
                SELECT votes.cast(\(vote), 4, '{2}', 'falsch');
                SELECT votes.open('S', '{a,b}', 1, now() + interval '1 hour', password => 'p');
                SELECT votes.close(\(vote), true);
                SELECT votes.count_ballots(\(vote));
                SELECT votes.rotate_wrapping_key();
                SELECT votes.destroy_keys()
                """)
        #expect(try await ground.state(vote).hasPrefix("counted"))
        // As plans show bytes: signed, with spaces between them.
        for secret in secrets {
            let text = secret.map { String(Int8(bitPattern: $0)) }.joined(separator: " ")
            #expect(!plans.contains(text))
        }
        // They would: the plans are there, with the vote's id in them.
        #expect(plans.contains("{PLANNEDSTMT"))
    }

    /// What psql prints of statements with all their plans, with single spaces.
    private func plans(of statements: String) async throws -> String {
        let url = try TestDatabase.here().url
        let psql = try Program(
            "/usr/bin/env", ["psql", "-X", "-q", "-d", url],
            input: "SET debug_print_plan = on; SET client_min_messages = log;\n" + statements
                + ";\n")
        #expect(try await psql.end(within: .seconds(60)) == .exited(0), "\(psql.errors)")
        return (psql.output + psql.errors).split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
    }
}
