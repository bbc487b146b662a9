import Errand
import ErrandPeople
import ErrandPostgres
import ErrandTestServices

/// People, and a module that holds things of them, in the database of the running test.
struct PeopleGround: Sendable {
    let session: Session

    /// The only holder is the schema `toy`: what a test finds depends on no other module.
    private static let toy = """
        DELETE FROM people.holders;
        DELETE FROM people.retention_rules WHERE module <> 'people';
        CREATE SCHEMA toy;
        CREATE TABLE toy.things (
            id bigint GENERATED ALWAYS AS IDENTITY, person_id bigint, note text,
            is_open boolean DEFAULT true, at timestamptz DEFAULT now());
        CREATE INDEX ON toy.things (person_id);
        CREATE FUNCTION toy.erase(person bigint)
        RETURNS TABLE (object text, action text, rows bigint, reason text) LANGUAGE sql AS $$
            WITH gone AS (DELETE FROM toy.things t WHERE t.person_id = person RETURNING 1)
            SELECT 'toy.things', 'deleted', count(*), NULL FROM gone
            UNION ALL SELECT 'toy.entries', 'kept', 2, 'bookkeeping'
        $$;
        CREATE FUNCTION toy.personal_data(person bigint) RETURNS jsonb LANGUAGE sql AS $$
            SELECT jsonb_build_object('things', coalesce(jsonb_agg(t.note ORDER BY t.id), '[]'))
            FROM toy.things t WHERE t.person_id = person
        $$;
        CREATE FUNCTION toy.block(person bigint) RETURNS void LANGUAGE sql AS $$
            UPDATE toy.things t SET is_open = false WHERE t.person_id = person
        $$;
        CREATE FUNCTION toy.forget(before timestamptz, max_rows int, only_count boolean)
        RETURNS bigint LANGUAGE plpgsql AS $$
        DECLARE
            n bigint;
        BEGIN
            IF only_count THEN
                RETURN (SELECT count(*) FROM (SELECT FROM toy.things t WHERE t.at < before
                    LIMIT max_rows) AS x);
            END IF;
            DELETE FROM toy.things WHERE ctid = ANY (ARRAY(SELECT t.ctid FROM toy.things t
                WHERE t.at < before LIMIT max_rows));
            GET DIAGNOSTICS n = ROW_COUNT;
            RETURN n;
        END $$;
        INSERT INTO people.holders VALUES ('toy', 10, true);
        SELECT people.put_person(id, jsonb_build_object('email', 'person' || id || '@example.org',
            'time_zone', 'America/Toronto', 'birth_date', '1990-05-17'))
        FROM generate_series(1, 4) AS id;
        INSERT INTO toy.things (person_id, note)
        SELECT 1 + n % 2, 'note ' || n FROM generate_series(1, 20) AS n
        """

    init() async throws {
        session = try TestDatabase.here().session()
        try await session.script(Self.toy)
    }

    func run(_ sql: String) async throws { try await session.script(sql) }

    func number(_ sql: String) async throws -> Int {
        Int(try await session.query(sql).int64(0, 0))
    }

    /// The first column of all rows; `null` for null.
    func texts(_ sql: String) async throws -> [String] {
        try await session.query(sql).map { try $0.optionalText(0) ?? "null" }
    }

    func text(_ sql: String) async throws -> String { try await texts(sql).first ?? "no row" }

    /// The SQLSTATE and the detail of a statement that fails.
    func refusal(_ sql: String) async throws -> String {
        do {
            _ = try await session.query(sql)
            return "none"
        } catch {
            guard case .server(let server) = error else { throw error }
            return server.sqlState + (server.detail.map { " " + $0 } ?? "")
        }
    }

    /// Runs a statement while another transaction holds what it needs; once it waits, or has ended,
    /// that one runs its last statement and commits.
    ///
    /// - Returns: the first column of both, or the refusal.
    func concurrently(
        _ holding: String, _ waiting: String, then last: String = "SELECT 'none'"
    ) async throws -> (waiting: String, last: String) {
        let holder = try TestDatabase.here().session()
        let other = try TestDatabase.here().session()
        let ended = Notebook<Bool>()
        try await holder.script("BEGIN; \(holding)")
        async let answer = Self.answer(waiting, other, ended)
        try await eventually("the other waits or ends") {
            let locks = try await number(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock'
                """)
            return ended.count > 0 || locks > 0
        }
        let first = try await Self.answer(last, holder, Notebook())
        // After an error, this rolls back.
        try await holder.script("COMMIT")
        let second = try await answer
        for session in [holder, other] { await session.close() }
        return (second, first)
    }

    private static func answer(
        _ sql: String, _ session: Session, _ ended: Notebook<Bool>
    ) async throws -> String {
        defer { ended.add(true) }
        do {
            return try await session.query(sql).first.map { try $0.optionalText(0) ?? "null" }
                ?? "no row"
        } catch let error as PostgresError {
            guard case .server(let server) = error else { throw error }
            return server.sqlState + (server.detail.map { " " + $0 } ?? "")
        }
    }

    func request(_ person: Int, id: String = "r1") async throws -> String {
        try await text("SELECT state FROM people.request_erasure(\(person), '\(id)')")
    }

    /// Applies the rules of retention.
    func retain(
        only: String? = nil, batch: Int32 = 100
    ) async throws -> [RunRetention.Result] {
        try await RunRetention.apply(
            only: only, in: try TestDatabase.here().pool(), now: .now(), batch: batch)
    }

    /// Runs the erasures that are due.
    @discardableResult func work() async throws -> WorkerSummary {
        var kinds = JobKinds()
        PeopleKinds.add(to: &kinds)
        return try await TestWorker.drain(kinds, queues: [.init("people")])
    }

    /// The lines of a person's last certificate that have counts.
    func counts(_ person: Int) async throws -> [String] {
        let body = try await text(
            "SELECT body FROM people.certificates WHERE person_id = \(person)")
        return body.split(separator: "\n").map(String.init).filter { $0.contains(".") }
            .filter { !$0.contains("T") }
    }
}
