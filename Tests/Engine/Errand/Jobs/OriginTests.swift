import ErrandAdministration
import Foundation
import Errand
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Where jobs come from, and what they make", .database) struct OriginTests {
    struct Parent: Job {
        static let kind = "test.parent"
        static let options = JobOptions(maxAttempts: 2, backoff: Backoff(base: 0, jitter: 0))
        var children: Int
    }

    struct Child: Job {
        static let kind = "test.child"
        static let options = JobOptions(queue: "later")
        var n: Int
    }

    private func record(_ id: Int64) async throws -> JobRecord {
        try #require(
            try await Inspector(session: TestDatabase.here().session()).job(id))
    }

    private func history(_ id: Int64) async throws -> [JobHistoryEntry] {
        try await Inspector(session: TestDatabase.here().session()).history(of: record(id))
    }

    @Test func `a child remembers its parent, however it is enqueued`() async throws {
        let client = try await JobClient(pool: TestDatabase.here().pool())
        let parent = try await client.enqueue(Parent(children: 1))
        let alone = try await client.enqueue(Child(n: 0))
        let made = Notebook<Enqueued>()
        let effects = Notebook<String?>()
        var kinds = JobKinds()
        kinds.handle(Parent.self) { _, context in
            made.add(try await context.client.enqueue(Child(n: 1)))
            made.add(
                try await context.client.enqueue(
                    Child(n: 2), EnqueueOptions(unique: Unique("k"))))
            made.add(
                try await context.client.enqueue(
                    Child(n: 3), EnqueueOptions(timeout: .seconds(9))))
            for child in try await context.client.enqueue([Child(n: 4), Child(n: 5)]) {
                made.add(child)
            }
            try await context.once("paid") {}
            // While it runs: retention may forget the effects of a completed job at any time.
            for entry in try await self.history(context.id) where entry.event == .effect {
                effects.add(entry.text)
            }
            try await context.database.transaction { transaction in
                made.add(try await context.client.enqueue(Child(n: 6), in: transaction))
                try await context.complete(in: transaction)
            }
        }
        #expect(try await TestWorker.drain(kinds).completed == 1)
        let ids = made.all.map(\.id)
        try #require(ids.count == 6)
        for id in ids { #expect(try await record(id).origin?.parent == parent.id) }
        #expect(try await record(alone.id).origin == nil)
        let history = try await history(parent.id)
        #expect(history.first?.text == "by a program, in SQL or Swift")
        #expect(effects.all == ["paid"])
        #expect(
            Set(history.filter { $0.event == .child }.compactMap(\.text))
                == Set(ids.map { "job \($0), test.child, available" }))
        #expect(!history.contains { $0.event == .more })
        let child = try await self.history(ids[0])
        #expect(child.map(\.event) == [.created, .due])
        #expect(child.first?.text == "by job \(parent.id)")
        // What the kind's options do not say is not lost beside the origin.
        var others = JobKinds()
        let seen = Notebook<Double>()
        others.handle(Child.self) { job, context in
            if job.n == 3 { seen.add(context.deadline.timeIntervalSince(context.now)) }
        }
        #expect(try await TestWorker.drain(others, queues: [.init("later")]).completed == 7)
        #expect(seen.all.map { $0.rounded() } == [9])
        #expect(
            try await self.history(parent.id).count { $0.text?.contains("completed") == true } == 6)
    }

    @Test func `children of a failed attempt, and too many to tell`() async throws {
        let client = try await JobClient(pool: TestDatabase.here().pool())
        let parent = try await client.enqueue(Parent(children: 30))
        var kinds = JobKinds()
        kinds.handle(Parent.self) { job, context in
            _ = try await context.client.enqueue((0..<job.children).map { Child(n: $0) })
            if context.attempt == 1 { throw JobError.invalid("once more") }
        }
        #expect(try await TestWorker.drain(kinds).completed == 1)
        let history = try await history(parent.id)
        #expect(history.count { $0.event == .child } == 20)
        #expect(history.last?.text == "it enqueued 40 more jobs")
        let failed = try #require(history.first { $0.event == .failed })
        #expect(failed.attempt == 1)
        #expect(failed.duration != nil)
        #expect(failed.worker != nil)
    }

    @Test func `jobs of many parents are enqueued at once`() async throws {
        let client = try await JobClient(pool: TestDatabase.here().pool())
        let parents = try await client.enqueue((0..<200).map { Parent(children: $0) })
        var kinds = JobKinds()
        kinds.handle(Parent.self) { job, context in
            try await context.client.enqueue(Child(n: job.children))
        }
        #expect(try await TestWorker.drain(kinds).completed == 200)
        let session = try TestDatabase.here().session()
        let rows = try await session.query(
            """
            SELECT (options -> 'origin' ->> 'parent')::bigint - $1 = (args ->> 'n')::bigint AS fits
            FROM errand.jobs
            """, [.int64(parents[0].id)])
        #expect(rows.count == 200)
        #expect(try rows.allSatisfy { try $0.bool("fits") })
    }

    @Test func `the look for children ends somewhere, and says so`() async throws {
        let session = try TestDatabase.here().session()
        try await session.script(
            """
            INSERT INTO errand.jobs (queue, kind) VALUES ('default', 'test.parent');
            INSERT INTO errand.jobs (queue, kind, options)
            SELECT 'later', 'test.child', CASE WHEN n IN (5, 24000)
                THEN '{"origin": {"parent": 1}}'::jsonb END
            FROM generate_series(1, 24001) AS n;
            UPDATE errand.jobs SET claimed_by = 1, attempt = 1, claimed_at = created_at
            WHERE id = 1;
            """)
        let history = try await history(1)
        #expect(
            history.filter { $0.event == .child }.map(\.text) == ["job 6, test.child, available"])
        #expect(history.last?.event == .more)
        #expect(history.last?.text?.contains("only the first 20000 jobs") == true)
        // Those from before it ran are not looked at.
        try await session.script(
            """
            UPDATE errand.jobs SET created_at = created_at - interval '1 hour'
            WHERE id BETWEEN 1 AND 20000;
            """)
        #expect(
            try await self.history(1).filter { $0.event == .child }.map(\.text)
                == ["job 24001, test.child, available"])
    }
}
