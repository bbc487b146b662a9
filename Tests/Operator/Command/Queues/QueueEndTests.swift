import Glibc
import ErrandTestServices
import Testing

extension JobCommands {
    @Suite("errand queue pause --for, drain, purge") struct QueueEndTests {
        @Test func `a pause with an end is over by itself`() async throws {
            let worker = try start(["work"])
            try await eventually("the worker to sign on") {
                try await number("SELECT count(*) FROM errand.workers") == 1
            }
            let paused = try await made("queue", "pause", "default", "--for", "1h")
            #expect(paused["paused_until"].text?.hasSuffix("Z") == true)
            try await eventually("the worker to hear of it") {
                worker.errors.contains("queue default paused")
            }
            let job = try await made("enqueue", "demo.noop")["id"]
            #expect(try await made("job", "show", job.id)["state"] == "available")
            let card = try await errand("queue", "show", "default")
            #expect(card.output.contains(/paused +by tester at 2.* until 2/))
            let status = try await made("status")
            #expect(status["queues"].elements[0]["paused_until"] == paused["paused_until"])
            try await made("queue", "pause", "default", "--for", "1s")
            try await errand("job", "wait", job.id, "--timeout", "20s").expect(0)
            let after = try await made("queue", "show", "default")
            for name in ["paused", "paused_at", "paused_by", "pause_reason", "paused_until"] {
                #expect(after[name] == nil, "\(name)")
            }
            // Without an end it stays, and forgets the end that it had.
            try await made("queue", "pause", "default", "--for", "1h")
            #expect(try await made("queue", "pause", "default")["paused_until"] == nil)
            #expect(try await made("queue", "resume", "default")["paused_at"] == nil)
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
            try await errand("queue", "pause", "default", "--for", "0s").expect(2, "from 1s to")
            try await errand("queue", "pause", "default", "--for", "soon").expect(2, "duration")
        }

        @Test func `drain waits for what is due and what runs`() async throws {
            #expect(try await made("queue", "drain", "default")["result"] == "drained")
            try await made("enqueue", "demo.sleep", #"{"ms": 400}"#)
            try await made("enqueue", "demo.noop", "--in", "1h")
            try await errand("queue", "drain", "default")
                .expect(
                    4, "no live worker works queue default", "'errand work --queues default'")
            let worker = try start(["work", "--grace", "0s"])
            try await eventually("the worker to sign on") {
                try await number("SELECT count(*) FROM errand.workers") == 1
            }
            let run = try await errand("queue", "drain", "default", "--timeout", "30s")
            run.expect(0)
            #expect(run.lines[1] == "result  drained")
            #expect(try await number("SELECT count(*) FROM errand.finished_jobs") == 1)
            try await made("enqueue", "demo.sleep", #"{"ms": 600000}"#)
            try await errand("queue", "drain", "default", "--timeout", "200ms")
                .expect(8, "timed out: 1 due or running jobs are left in queue default")
            try await made("queue", "pause", "default")
            try await errand("queue", "drain", "default")
                .expect(4, "queue default is paused", "errand queue resume default")
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
        }

        @Test func `purge asks, and ends what waits, in chunks`() async throws {
            try await made("enqueue", "demo.noop", "--count", "4500")
            try await made(
                "enqueue", "demo.sleep", #"{"ms": 1}"#, "--in", "1h", "--priority", "low")
            let other = try await made("enqueue", "demo.noop", "--queue", "mail")["id"]
            try await errand("queue", "purge", "default")
                .expect(5, "cancel all 4,501 waiting jobs of queue default?", "--yes")
            #expect(try await number("SELECT count(*) FROM errand.jobs") == 4502)
            let dry = try await errand("queue", "purge", "default", "--dry-run", "-ojson")
            #expect(try dry.record["count"] == 4501)
            let purged = try await made(
                "queue", "purge", "default", "--yes", "--reason", "moving")
            #expect(purged["done"] == 4501)
            #expect(purged["action"] == "queue purge")
            #expect(try await made("audit", "ls", "--action", "queue")["reason"] == "moving")
            #expect(try await number("SELECT count(*) FROM errand.jobs") == 1)
            #expect(
                try await number(
                    """
                    SELECT count(*) FROM errand.finished_jobs
                    WHERE outcome = 'cancelled' AND reason = 'purged by tester: moving'
                    """) == 4501)
            #expect(try await made("job", "show", other.id)["state"] == "available")
            let again = try await errand("queue", "purge", "default")
            again.expect(0, "nothing to do: no jobs match")
        }

        @Test func `purge leaves what runs`() async throws {
            let job = try await made("enqueue", "demo.sleep", #"{"ms": 600000}"#)["id"]
            let worker = try start(["work", "--grace", "0s"])
            try await eventually("the job to run") {
                try await number("SELECT count(claimed_by) FROM errand.jobs") == 1
            }
            #expect(try await made("queue", "purge", "default", "-y")["done"] == 0)
            #expect(try await made("job", "show", job.id)["state"] == "running")
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
        }

        @Test(arguments: ["drain", "purge"])
        func `a queue that is not there`(verb: String) async throws {
            try await errand("queue", verb, "defalt")
                .expect(3, "there is no queue defalt", "did you mean default?")
            let json = try await errand("queue", verb, "xyz", "-ojson")
            json.expect(3)
            #expect(try json.failure["code"] == "not_found")
            try await errand("queue", verb).expect(2, "needs NAME", "usage: errand queue \(verb)")
        }
    }
}
