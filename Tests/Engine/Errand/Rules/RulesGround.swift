import ErrandAdministration
import Foundation
@testable import Errand
import ErrandPostgres
import ErrandRedis
import ErrandTestServices
import Testing

/// What the tests of the engine's rules have at hand: a session on the test's own database, and
/// the keys that this database has in Redis.
struct RulesGround: Sendable {
    let database: TestDatabase
    let session: Session
    let redis: Connection
    let keys: RedisKeys

    static let lane = Lane(queue: "default", kind: Plain.kind, version: 1)

    init() async throws {
        database = try TestDatabase.here()
        session = database.session("rules-test")
        redis = Connection(database.redis, name: "rules-test")
        let instance = try await session.query("SELECT id::text FROM errand.instance")
        keys = RedisKeys(instance: try instance.text(0, 0))
    }

    /// A client that tells the workers' windows of its jobs, or one that leaves it to the feeder.
    func client(hinting: Bool = true) async throws -> JobClient {
        try await JobClient(pool: database.pool(), redis: hinting ? database.redis : nil)
    }

    func number(_ sql: String) async throws -> Int {
        Int(try await session.query(sql).int64(0, 0))
    }

    func record(_ id: Int64) async throws -> JobRecord {
        try #require(try await Inspector(session: session).job(id))
    }

    func errors(of id: Int64) async throws -> [[String: Any]] {
        let errors = try await record(id).errors
        return try JSONSerialization.jsonObject(with: Data(errors)) as? [[String: Any]] ?? []
    }

    // MARK: Other workers

    /// Adds a worker that exists only in its row.
    func absentWorker(silentFor silence: String = "0 s", canRun: Bool = false) async throws
        -> Int64
    {
        try await session.query(
            """
            INSERT INTO errand.workers (host, pid, version, last_seen_at, lease_seconds, queues,
                kinds)
            VALUES ('elsewhere', 1, '0', clock_timestamp() - $1::interval, 600, $2, $3)
            RETURNING id
            """,
            [
                .text(silence), .json(Array((canRun ? #"{"default": {}}"# : "{}").utf8)),
                .textArray(canRun ? [Self.lane.capability] : []),
            ]
        ).int64(0, 0)
    }

    /// What a claim by another worker does to jobs, whoever has them now.
    func give(_ ids: [Int64], to worker: Int64, token: Int64 = 4_711) async throws {
        _ = try await session.query(
            """
            UPDATE errand.jobs
            SET claimed_by = $2, claim_token = $3, claimed_at = clock_timestamp(),
                attempt = attempt + 1
            WHERE id = ANY ($1)
            """,
            [.int64Array(ids), .int64(worker), .int64(token)])
    }

    // MARK: Redis

    func window(limit: Int = 10_000) -> ReadyWindow {
        ReadyWindow(connection: redis, keys: keys, limit: limit)
    }

    /// The ids that stand in a lane's window.
    func staged(_ lane: Lane = Self.lane) async throws -> [Int64] {
        try await content(of: keys.window(lane)).compactMap(Int64.init)
    }

    func stagedCount(_ lane: Lane = Self.lane) async throws -> Int {
        Int(try await redis.send(Command("ZCARD", keys.window(lane))).int ?? 0)
    }

    /// All that this database has in Redis: each key with what it holds.
    func ownKeys() async throws -> [String: [String]] {
        var found: [String: [String]] = [:]
        for key in try await keyNames() { found[key] = try await content(of: key) }
        return found
    }

    /// Deletes all that this database has in Redis; other tests share the server.
    func loseKeys() async throws {
        for key in try await keyNames() { _ = try await redis.send(Command("DEL", key)) }
    }

    private func keyNames() async throws -> Set<String> {
        var names: Set<String> = []
        var cursor = "0"
        repeat {
            let reply = try await redis.send(
                Command("SCAN", cursor, "MATCH", keys.prefix + "*", "COUNT", "1000"))
            let parts = try #require(reply.array)
            cursor = try #require(parts[0].text)
            names.formUnion((parts[1].array ?? []).compactMap(\.text))
        } while cursor != "0"
        return names
    }

    private func content(of key: String) async throws -> [String] {
        // In one step: a worker may take the key away, or make it anew, in between.
        let script = """
            local type = redis.call('TYPE', KEYS[1]).ok
            if type == 'zset' then return redis.call('ZRANGE', KEYS[1], 0, -1) end
            if type == 'hash' then return redis.call('HGETALL', KEYS[1]) end
            if type == 'set' then return redis.call('SMEMBERS', KEYS[1]) end
            if type == 'none' then return {} end
            return redis.call('GET', KEYS[1])
            """
        let reply = try await redis.send(Command("EVAL", script, "1", key))
        return reply.array?.compactMap(\.text) ?? reply.text.map { [$0] } ?? []
    }

    // MARK: Who wrote what

    /// From now on writes down of each statement that changes errand.jobs who ran it, and how.
    func watchWrites() async throws {
        try await session.script(
            """
            CREATE TABLE public.writes (
                operation text, writer text, synchronous text, transaction text,
                lock_timeout text
            );
            CREATE FUNCTION public.write_down() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                INSERT INTO public.writes VALUES (TG_OP, current_setting('application_name'),
                    current_setting('synchronous_commit'), pg_current_xact_id()::text,
                    current_setting('lock_timeout'));
                RETURN NULL;
            END $$;
            CREATE TRIGGER write_down AFTER INSERT OR UPDATE OR DELETE ON errand.jobs
            FOR EACH STATEMENT EXECUTE FUNCTION public.write_down();
            """)
    }
}

/// Keeps the handlers of a test waiting until it opens.
final class Gate: Sendable {
    private let opened = Notebook<Bool>()

    func open() { opened.add(true) }

    func pass() async throws {
        while opened.count == 0 { try await Task.sleep(for: .milliseconds(2)) }
    }
}
