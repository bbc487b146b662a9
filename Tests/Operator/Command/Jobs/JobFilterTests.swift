import ErrandPostgres
import ErrandTestServices
import Testing

extension JobCommands {
    @Suite("errand job ls: filters that combine") struct JobFilterTests {
        private func ids(_ filters: String...) async throws -> [JSON] {
            let run = try await errand(["job", "ls", "-ojson"] + filters)
            run.expect(0)
            return try run.records.map { $0["id"] }
        }

        @Test func `ls filters by key, arguments, age and schedule`() async throws {
            let one = try await made(
                "enqueue", "demo.sleep", #"{"ms": 42, "name": "42"}"#, "--unique", "a'b")["id"]
            let two = try await made("enqueue", "demo.sleep", #"{"ms": 7, "name": "x=y"}"#)["id"]
            try await change(
                """
                UPDATE errand.jobs SET created_at = now() - interval '3 hours',
                    options = '{"occurrence": {"schedule": "a.b"}}' WHERE id = \(one.id)
                """)
            #expect(try await ids("--key", "a'b") == [one])
            #expect(try await ids("--arg", "ms=42") == [one])
            #expect(try await ids("--arg", "name=42") == [one])
            #expect(try await ids("--arg", "name=x=y") == [two])
            #expect(try await ids("--arg", "ms=7", "--arg", "name=x=y") == [two])
            #expect(try await ids("--arg", "ms=7", "--arg", "name=42") == [])
            #expect(try await ids("--arg", "name=1-2") == [])
            #expect(try await ids("--older", "2h") == [one])
            #expect(try await ids("--newer", "2h") == [two])
            #expect(try await ids("--schedule", "a.b") == [one])
            #expect(try await ids("--worker", "1") == [])
            #expect(try await ids("--kind", "demo.sleep", "--newer", "1d") == [two, one])
        }

        @Test func `ls filters by error, worker and fingerprint`() async throws {
            for count in [1, 12] {
                try await made(
                    "enqueue", "demo.fail", #"{"times": \#(count)}"#, "--max-attempts", "1")
            }
            let fine = try await made("enqueue", "demo.noop")
            #expect(try await made("work", "--drain")["dead"] == 2)
            let dead = try await ids("--state", "dead")
            try #require(dead.count == 2)
            #expect(try await ids("--error", "FAILED on") == dead)
            #expect(try await ids("--error", "~ ^failed .*purpose") == dead)
            #expect(try await ids("--error", "%") == [])
            #expect(try await ids("--error", "' OR true --") == [])
            #expect(try await ids("--state", "completed,dead").count == 3)
            #expect(try await ids("--state", "completed") == [fine["id"]])
            let job = try await made("job", "show", dead[0].id)
            #expect(try await ids("--worker", job["worker"].id).count == 3)
            let fingerprint = try #require(job["fingerprint"].text)
            #expect(job["last_error"].text?.contains("failed on purpose") == true)
            #expect(try await ids("--fingerprint", fingerprint, "--state", "dead") == dead)
            #expect(try await ids("--fingerprint", fingerprint, "--state", "available") == [])
            #expect(try await ids("--fingerprint", "nothing") == [])
        }

        @Test func `ls tells states of living and of ended jobs apart`() async throws {
            let later = try await made("enqueue", "demo.noop", "--in", "1h")["id"]
            let now = try await made("enqueue", "demo.noop")["id"]
            let again = try await made("enqueue", "demo.noop")["id"]
            let busy = try await made("enqueue", "demo.noop")["id"]
            let gone = try await made("enqueue", "demo.noop")["id"]
            try await made("job", "cancel", gone.id)
            try await change(
                """
                UPDATE errand.jobs SET attempt = 1 WHERE id IN (\(again.id), \(busy.id));
                UPDATE errand.jobs SET claimed_by = 7 WHERE id = \(busy.id);
                """)
            #expect(try await ids("--state", "scheduled") == [later])
            #expect(try await ids("--state", "available") == [now])
            #expect(try await ids("--state", "retrying") == [again])
            #expect(try await ids("--state", "running") == [busy])
            #expect(try await ids("--worker", "7") == [busy])
            #expect(try await ids("--state", "running,cancelled,scheduled") == [gone, busy, later])
            #expect(try await ids("--state", "completed,dead") == [])
        }

        @Test func `what filters refuse`() async throws {
            for (option, value, text) in [
                ("--arg", "ms", "expected NAME=VALUE, such as person_id=42"),
                ("--arg", "=1", "expected NAME=VALUE"), ("--older", "5", "expected a duration"),
                ("--worker", "x", "expected a whole number"),
                ("--error", "", "expected a non-empty text"),
            ] {
                try await errand("job", "ls", option, value).expect(2, text)
            }
            try await errand("job", "ls", "--error", "~ (", "--state", "dead")
                .expect(2, "invalid regular expression", "without '~'")
        }

        @Test func `what a fingerprint leaves out`() async throws {
            let texts = [
                "job 12 failed after 1.5 s", "job 9,000 failed after 30 s",
                "no user 'kim' in \"shop\"", "no user 'o' in \"\"",
                "gone: 6f1c0b7e-1111-4222-8333-444455556666", "gone: deadbeef0123",
                "gone: 0xAB", "can't do it, don't try", "line one\nline two", "line one\nother",
            ]
            let patterns = [
                "job # failed after # s", "no user \"…\" in \"…\"", "gone: #",
                "can't do it, don't try", "line one",
            ]
            let session = try TestDatabase.here().session()
            let rows = try await session.query(
                """
                SELECT DISTINCT errand.error_pattern(t) COLLATE "C"
                FROM unnest($1::text[]) t ORDER BY 1
                """, [.textArray(texts)])
            #expect(try rows.map { try $0.text(0) } == patterns.sorted())
            await session.close()
        }
    }
}
