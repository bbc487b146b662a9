import Foundation
import Glibc
import ErrandPostgres
import ErrandTestServices
import Testing

extension AppCrashTests {
    /// Erasures while workers and the database are killed.
    @Suite("Erasures") struct ErasureFaultTests {
        private static let people = 60
        private static let things = 40

        @Test(.timeLimit(.minutes(3)))
        func `each certificate counts everything once, whatever is killed`() async throws {
            let ground = try CrashGround.here()
            try await fill(ground)
            let kills = try await ground.killWorkers(
                of: "people:4", pause: 100...900, longest: 3_000, within: .seconds(90)
            ) { kills in
                await hurry(ground)
                let left = try? await ground.number(
                    "SELECT count(*) FROM people.erasures WHERE state <> 'finished'")
                return left == 0 || kills >= 8
            }
            // The last one may end its work.
            let worker = try ground.worker(of: "people:4")
            try await eventually("the end of all erasures", within: .seconds(60)) {
                await hurry(ground)
                return try await ground.number(
                    "SELECT count(*) FROM people.erasures WHERE state <> 'finished'") == 0
            }
            try await ground.expectCleanStop(worker)
            try await expectRight(ground)
            print("erasures: \(Self.people) people of \(Self.things) things, \(kills) kills")
        }

        /// Each erasure of the toy's takes long enough to be cut off.
        private func fill(_ ground: CrashGround) async throws {
            try await ground.session.script(
                """
                CREATE SCHEMA toy;
                CREATE TABLE toy.things (person_id bigint, note text);
                CREATE INDEX ON toy.things (person_id);
                CREATE FUNCTION toy.erase(person bigint)
                RETURNS TABLE (object text, action text, rows bigint, reason text)
                LANGUAGE plpgsql AS $$ BEGIN
                    PERFORM pg_sleep(0.03);
                    RETURN QUERY WITH gone AS (
                        DELETE FROM toy.things t WHERE t.person_id = person RETURNING 1)
                    SELECT 'toy.things', 'deleted', count(*), NULL::text FROM gone;
                    PERFORM pg_sleep(0.03);
                END $$;
                DELETE FROM people.holders;
                INSERT INTO people.holders VALUES ('toy', 10, false);
                INSERT INTO people.people (id, email, birth_date)
                SELECT n, 'person' || n || '@erased.example', '1990-05-17'
                FROM generate_series(1, \(Self.people)) AS n;
                INSERT INTO toy.things
                SELECT n, 'note' FROM generate_series(1, \(Self.people)) AS n,
                    generate_series(1, \(Self.things));
                SELECT errand.enqueue_own('app.job', jsonb_build_object('person_id', n))
                FROM generate_series(1, \(Self.people)) AS n;
                SELECT count(people.request_erasure(n, 'r' || n))
                FROM generate_series(1, \(Self.people)) AS n
                """)
        }

        /// Attempts that failed with a server that went away are not waited for.
        private func hurry(_ ground: CrashGround) async {
            _ = try? await ground.session.query(
                """
                UPDATE errand.jobs SET run_at = now() WHERE claimed_by IS NULL AND queue = 'people'
                """
            )
        }

        private func expectRight(_ ground: CrashGround) async throws {
            #expect(
                try await ground.number(
                    "SELECT count(*) FROM people.certificates") == Self.people)
            #expect(
                try await ground.number(
                    """
                    SELECT count(*) FROM people.erasure_counts
                    WHERE object = 'toy.things' AND rows = \(Self.things)
                    """) == Self.people)
            #expect(
                try await ground.number(
                    """
                    SELECT count(*) FROM people.erasure_counts
                    WHERE object = 'errand.jobs' AND action = 'deleted' AND rows = 1
                    """) == Self.people)
            #expect(
                try await ground.number(
                    """
                    SELECT count(*) FROM people.people p, people.certificate_of(p.id) AS c
                    WHERE c.is_intact
                    """) == Self.people)
            #expect(
                try await ground.number(
                    "SELECT count(*) FROM people.people p WHERE p::text LIKE '%erased.example%'")
                    == 0)
        }
    }
}
