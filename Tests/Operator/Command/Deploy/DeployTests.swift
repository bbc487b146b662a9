import Foundation
import ErrandTestServices
import Testing

/// The Compose file and the Dockerfile: read by strict linters, and started without an engine.
@Suite("Compose and the image") struct DeployTests {
    typealias Fault = DeployGround.Fault

    @Test func `the Compose file has nothing amiss`() async throws {
        #expect(try await DeployGround().findings("compose") == [])
    }

    @Test func `the Dockerfile has nothing amiss`() async throws {
        #expect(try await DeployGround().findings("image") == [])
    }

    @Test(arguments: [
        Fault("read_only: true", "readonly: true", "'readonly' was unexpected"),
        Fault("cap_drop: [ALL]", "cap_drop: []", "cap_drop is not ['ALL']"),
        Fault("errand:1.0.0", "errand:latest", "the image errand:latest has no version"),
        Fault("secrets: [owner_database_url]", "secrets: [owner_url]", "owner_url is used and not"),
        Fault("  redis_users: {", "  redis_user: {", "redis_users is used and not declared"),
        Fault("redis: {condition", "rediss: {condition", "waits for rediss, which there is not"),
        Fault("  outside: {}", "  outsides: {}", "networks: outsides is declared and not used"),
        Fault("restart: on-failure", "restart: always", "the end of migrate, which is started"),
        Fault("ERRAND_GRACE: 25s", "ERRAND_GRACE: 35s", "is no 10 s more than the grace of 35s"),
        Fault("ERRAND_QUEUES:", "ERRAND_QUEUE:", "errand knows no variable ERRAND_QUEUE"),
        Fault("[work, --no-schedules]", "[work]", "works without --no-schedules"),
        Fault("REDIS_URL_FILE: /run/secrets/worker_redis_url", "REDIS_URL: x", "holds a secret"),
        Fault("[servers, outside]", "[servers, outside]\n    ports: ['9464']", "ports opens it"),
        Fault("healthcheck: *live", "healthcheck: {disable: false}", "healthcheck has no test"),
        Fault("ERRAND_LISTEN: \"[::]:9464\"", "LANG: C", "ERRAND_LISTEN, which is not set"),
        Fault("[::]:9464", "9464", "ERRAND_LISTEN is open to the container alone"),
    ])
    func `a fault in the Compose file is found`(fault: Fault) async throws {
        let ground = try DeployGround()
        try ground.plant(fault, in: "compose.yaml")
        let findings = try await ground.findings("compose")
        #expect(findings.contains { $0.contains(fault.finding) }, "\(findings)")
    }

    @Test(arguments: [
        Fault("libpq5", "libpq-dev", "libpq5 is missing: errand needs it"),
        Fault("        tzdata", "        tzdata-legacy", "tzdata is missing"),
        Fault("libssl3", "libssl3 libsodium23", "libsodium23 is installed and not loaded"),
        Fault("USER 10001:10001", "USER root", "USER is root"),
        Fault("LISTEN=[::]:9464", "LISTEN=9464", "ERRAND_LISTEN is open to the container alone"),
        Fault("CMD [\"work\"]", "CMD work", "DL3025"),
        Fault("--probe\", \"live\"", "--probe\", \"ready\"", "HEALTHCHECK does not ask"),
        Fault("STOPSIGNAL SIGTERM", "STOPSIGNAL SIGKILL", "STOPSIGNAL is not SIGTERM"),
        Fault("COPY Tests Tests", "COPY Snippets Snippets", "leaves out Snippets"),
        Fault("ARG RUN_IMAGE=debian:bookworm-slim", "ARG RUN_IMAGE", "RUN_IMAGE has no default"),
    ])
    func `a fault in the Dockerfile is found`(fault: Fault) async throws {
        let ground = try DeployGround()
        try ground.plant(fault, in: "Dockerfile")
        let findings = try await ground.findings("image")
        #expect(findings.contains { $0.contains(fault.finding) }, "\(findings)")
    }

    /// Everything that the file starts is started by its words, with its user, its secrets and its
    /// rights: PostgreSQL and Redis too.
    @Test func `all services come up, work together, and end in order`() async throws {
        let seen = try await DeployGround().up(
            steps: [
                ran("worker", "errand enqueue ledger.prove", until: "inserted"),
                // The other worker sees it done.
                ran("worker", Self.completed, until: "{", replica: 1),
                ran("worker", "errand worker ls -ojson", until: "worker-1"),
                ran("worker", "errand schedule add often @every~1s --kind ledger.prove"),
                ran("worker", "errand job ls --state completed -ojson", until: "often"),
            ])
        let services = seen["services"]
        #expect(services.names == ["postgres", "redis", "migrate", "worker", "scheduler"])
        #expect(services["migrate"]["containers"].elements.map { $0["code"] } == [0])
        for (name, user, count) in [
            ("postgres", 999, 1), ("redis", 999, 1), ("worker", 10001, 2), ("scheduler", 10001, 1),
        ] {
            let containers = services[name]["containers"].elements
            #expect(containers.count == count, "\(name)")
            for each in containers {
                #expect(each["uid"].number == Double(user), "\(name)")
                #expect(each["rights"] == 0, "\(name)")
                #expect(each["confined"] == true, "\(name)")
                #expect(each["read_only"] == true, "\(name)")
                #expect(each["first"] == true, "\(name) is process 1 and has to heed signals")
                #expect(each["code"] == 0, "\(name) ended")
            }
        }
    }
    /// The commands that deploy/README.md has for a backup and its restore.
    @Test func `what was dumped is restored, and the workers go on`() async throws {
        let seen = try await DeployGround().up(
            steps: [
                ran("worker", "errand enqueue ledger.prove --in 1h --unique kept"),
                ran(
                    "postgres",
                    "pg_dump -U postgres -Fc --no-unlogged-table-data errand -f /tmp/dump"),
                ran("worker", "errand enqueue ledger.prove --in 1h --unique lost"),
                #"{"stop": "worker"}"#, #"{"stop": "scheduler"}"#,
                ran("postgres", "psql -U postgres -c DROP~DATABASE~errand"),
                ran("postgres", "psql -U postgres -q -f /docker-entrypoint-initdb.d/20_roles.sql"),
                ran("postgres", "pg_restore -U postgres -d errand --exit-on-error /tmp/dump"),
                #"{"stop": "redis"}"#, #"{"start": "redis"}"#,
                #"{"start": "worker"}"#, #"{"start": "scheduler"}"#,
                ran("worker", "errand job ls --state scheduled --kind ledger.prove -ojson"),
                ran("worker", "errand enqueue ledger.prove", until: "inserted"),
                ran("worker", Self.completed, until: "{"),
            ])
        let listing = seen["steps"].elements.dropLast(2).last?.text ?? ""
        #expect(listing.contains("kept") && !listing.contains("lost"), "\(listing)")
        #expect(
            seen["services"]["worker"]["containers"].elements.map { $0["code"] } == [0, 0, 0, 0])
    }

    private static let completed = "errand job ls --state completed --kind ledger.prove -ojson"

    /// A step of the engine; `~` stands for a blank within a word.
    private func ran(
        _ service: String, _ command: String, until: String? = nil, replica: Int = 0
    ) -> String {
        struct Step: Encodable {
            var `in`: String
            var run: [String]
            var until: String?
            var replica: Int
        }
        let words = command.split(separator: " ").map {
            $0.replacingOccurrences(of: "~", with: " ")
        }
        let step = Step(in: service, run: words, until: until, replica: replica)
        return (try? JSONEncoder().encode(step)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
