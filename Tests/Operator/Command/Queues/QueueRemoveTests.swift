import ErrandTestServices
import Testing

extension JobCommands {
    @Suite("errand queue rm") struct QueueRemoveTests {
        @Test func `a queue that nothing uses is removed, and created again by a job`()
            async throws
        {
            try await change("INSERT INTO errand.queues (name) VALUES ('tenant-7')")
            try await errand("queue", "rm", "tenant-7").expect(5, "--yes")
            let removed = try await made(
                "queue", "rm", "tenant-7", "--yes", "--reason", "contract ended")
            #expect(removed["queue"] == "tenant-7" && removed["result"] == "removed")
            try await errand("queue", "rm", "tenant-7", "--yes").expect(3, "no queue tenant-7")
            let line = try #require(try await errand("audit", "ls", "-ojson").records.first)
            #expect(line["action"] == "queue rm" && line["subject"] == "tenant-7")
            #expect(line["reason"] == "contract ended" && line["operator"] == "tester")
            try await made("enqueue", "demo.noop", "--queue", "tenant-7")
            #expect(try await made("queue", "show", "tenant-7")["available"] == 1)
        }

        @Test func `a queue in use is refused, with what uses it`() async throws {
            func refused(_ text: String, _ hint: String) async throws {
                try await errand("queue", "rm", "post", "--yes").expect(4, text, hint)
                #expect(try await number("SELECT count(*) FROM errand.queues") == 2)
            }
            try await made("enqueue", "demo.noop", "--queue", "post", "--in", "1h")
            try await errand("queue", "rm", "default", "--yes").expect(4, "jobs without another")
            try await refused("has jobs", "errand queue purge post")
            try await change("DELETE FROM errand.jobs")
            try await made("queue", "limit", "post", "--running", "1")
            try await refused("has a limit", "errand queue limit post --none")
            try await made("queue", "limit", "post", "--none")
            try await made("queue", "pause", "post")
            try await refused("is paused", "errand queue resume post")
            try await made("queue", "resume", "post")
            try await change(
                """
                INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)
                VALUES ('mail.send', 1, 'post', 2, 3)
                """)
            try await refused(
                "is the default queue of the kind mail.send", "retention forgets the kind")
            try await change("DELETE FROM errand.kinds WHERE kind = 'mail.send'")
            try await change(
                """
                INSERT INTO errand.workers (host, pid, version, lease_seconds, queues, kinds)
                VALUES ('here', 2, '0', 600, '{"post": {}}', '{}')
                """)
            try await refused("is served by worker ", "start the worker without it")
            // A pattern needs no row.
            try await change(#"UPDATE errand.workers SET queues = '{"ma*": {}}'"#)
            try await made("queue", "rm", "post", "--yes")
            #expect(try await number("SELECT count(*) FROM errand.queues") == 1)
        }

        @Test func `a dead letter that runs again creates its queue`() async throws {
            let job = try await made(
                "enqueue", "demo.fail", #"{"times": 9}"#, "--max-attempts", "1", "--queue", "post")
            #expect(try await made("work", "--queues", "post", "--drain")["dead"] == 1)
            try await made("queue", "rm", "post", "--yes")
            try await made("job", "retry", job["id"].id)
            #expect(try await made("queue", "show", "post")["queue"] == "post")
        }
    }
}
