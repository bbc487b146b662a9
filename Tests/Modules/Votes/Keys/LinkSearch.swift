import Foundation
import ErrandPostgres
import ErrandTestServices

/// What somebody finds who has the server's files, as a superuser with `pageinspect`.
struct LinkSearch: Sendable {
    private let session: Session

    init() async throws {
        session = try TestDatabase.here().session()
        try await session.script(Self.functions)
        try await session.script(Self.hindsight)
    }

    private static let functions = """
        CREATE EXTENSION pageinspect SCHEMA public;

        -- All pages of all forks of tables, indexes, sequences and their TOAST.
        CREATE FUNCTION public.pages() RETURNS TABLE (place text, bytes bytea)
        LANGUAGE plpgsql AS $$
        DECLARE
            of record;
        BEGIN
            FOR of IN
                SELECT c.oid::regclass::text AS name, f AS fork,
                    pg_relation_size(c.oid, f) / 8192 AS pages
                FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                CROSS JOIN unnest('{main,fsm,vm,init}'::text[]) f
                WHERE c.relkind IN ('r', 'i', 'S', 't', 'm')
                  AND n.nspname IN ('votes', 'errand', 'notification', 'people', 'pg_toast',
                      'pg_catalog')
            LOOP
                FOR number IN 0 .. of.pages - 1 LOOP
                    place := of.name || ' ' || of.fork || ' ' || number;
                    bytes := get_raw_page(of.name, of.fork, number);
                    RETURN NEXT;
                END LOOP;
            END LOOP;
        END $$;

        -- All files of the database, also those of no table any more.
        CREATE FUNCTION public.files() RETURNS TABLE (place text, bytes bytea)
        LANGUAGE sql AS $$
            SELECT f.path, pg_read_binary_file(f.path, 0, 500000000, true)
            FROM pg_database d CROSS JOIN LATERAL (
                SELECT 'base/' || d.oid || '/' || n AS path FROM pg_ls_dir('base/' || d.oid) n
            ) f WHERE d.datname = current_database()
        $$;

        -- The rows of a table in its pages, deleted ones too: their attributes as stored.
        CREATE FUNCTION public.remains(name text) RETURNS SETOF bytea[] LANGUAGE sql AS $$
            SELECT i.t_attrs
            FROM generate_series(0, pg_relation_size(name::regclass) / 8192 - 1) n
            CROSS JOIN LATERAL heap_page_item_attrs(
                get_raw_page(name, n::int), name::regclass, false) i
            WHERE i.t_attrs IS NOT NULL
        $$;

        CREATE FUNCTION public.number(stored bytea) RETURNS bigint LANGUAGE sql AS $$
            SELECT sum(get_byte(stored, i)::numeric * 256::numeric ^ i)::bigint
            FROM generate_series(0, 7) i
        $$;

        -- A choice, by a key that may be the wrong one.
        CREATE FUNCTION public.try_open(sealed bytea, key bytea) RETURNS text
        LANGUAGE plpgsql AS $$
        BEGIN
            RETURN rtrim(encode(substr(votes.open_link(sealed, key), 33), 'escape'));
        EXCEPTION WHEN OTHERS THEN
            RETURN NULL;
        END $$;

        -- Who chose what, of all rows and keys in the pages. Short values have a head of a byte.
        CREATE FUNCTION public.links(vote bigint) RETURNS TABLE (person bigint, choice text)
        LANGUAGE sql AS $$
            WITH casts AS (
                SELECT number(r[2]) AS person, substr(r[3], 2) AS sealed
                FROM remains('votes.casts') r WHERE number(r[1]) = $1
            ), keys AS (
                SELECT substr(r[3], 2) AS cipher_key, substr(r[4], 2) AS mac_key
                FROM remains('votes.open_keys') r
            ), shares AS (
                SELECT votes.unwrap(substr(r[3], 2), w.key) AS share
                FROM remains('votes.key_shares') r
                CROSS JOIN LATERAL unnest('{0,1}'::smallint[]) s
                CROSS JOIN LATERAL votes.wrapping_key(s) AS w (key)
                WHERE w.key IS NOT NULL
            ), link_keys AS (
                SELECT k.mac_key, k.cipher_key AS key FROM keys k
                UNION SELECT k.mac_key, votes.link_key(k.cipher_key, s.share) FROM keys k, shares s
            )
            SELECT DISTINCT c.person, o.choice
            FROM casts c JOIN link_keys k ON votes.is_link_of($1, c.person, c.sealed, k.mac_key)
            CROSS JOIN LATERAL try_open(c.sealed, k.key) AS o (choice)
            WHERE o.choice ~ '^[0-9]+$'
        $$;
        """

    private static let hindsight = """
        -- Who chose what, of links and a key that somebody remembers, whatever 48 bytes of the
        -- pages are a wrapped share, and whichever wrapping key unwraps it.
        CREATE FUNCTION public.rejoin(
            vote bigint, sealed text[], cipher_key bytea, mac_key bytea
        ) RETURNS TABLE (person bigint, choice text) LANGUAGE sql AS $$
            WITH windows AS MATERIALIZED (
                SELECT DISTINCT substr(p.bytes, i, 48) AS bytes
                FROM generate_series(0, pg_relation_size('votes.key_shares') / 8192 - 1) n
                CROSS JOIN LATERAL get_raw_page('votes.key_shares', n::int) AS p (bytes)
                CROSS JOIN generate_series(1, 8192 - 47) i
            ), shares AS MATERIALIZED (
                SELECT DISTINCT u.share
                FROM windows w CROSS JOIN unnest('{0,1}'::smallint[]) s
                CROSS JOIN LATERAL votes.wrapping_key(s) AS k (key)
                CROSS JOIN LATERAL (
                    SELECT votes.unwrap(w.bytes, k.key) AS share OFFSET 0) AS u
                WHERE k.key IS NOT NULL AND votes.is_share(u.share)
            )
            SELECT DISTINCT p.person_id, o.choice
            FROM unnest($2) AS l (hex) CROSS JOIN LATERAL decode(l.hex, 'hex') AS d (sealed)
            JOIN votes.participants p ON p.vote_id = $1
                AND votes.is_link_of($1, p.person_id, d.sealed, $4)
            CROSS JOIN shares h
            CROSS JOIN LATERAL try_open(d.sealed, votes.link_key($3, h.share)) AS o (choice)
            WHERE o.choice ~ '^[0-9]+$'
        $$;
        """

    /// Joins people to choices by links and a key that were read while the vote was open, and by
    /// what is in the pages now.
    func rejoined(_ vote: Int64, with secrets: Secrets) async throws -> [Int64: Int32] {
        let rows = try await session.query(
            "SELECT person, choice::int FROM public.rejoin($1, $2, $3, $4)",
            [
                .int64(vote), .textArray(secrets.sealed.map(hexadecimal)),
                .bytes(secrets.keys[0]), .bytes(secrets.keys[1]),
            ])
        return Dictionary(try rows.map { (try $0.int64(0), try $0.int32(1)) }) { $1 }
    }

    /// Joins people to choices by all that is in the pages.
    func links(of vote: Int64) async throws -> [Int64: Int32] {
        let rows = try await session.query(
            "SELECT person, choice::int FROM public.links($1)", [.int64(vote)])
        return Dictionary(try rows.map { (try $0.int64(0), try $0.int32(1)) }) { $1 }
    }

    /// The number of rows of a table in its pages, deleted ones too.
    func remains(of table: String) async throws -> Int64 {
        try await session.query("SELECT count(*) FROM public.remains($1)", [.text(table)])
            .int64(0, 0)
    }

    /// Where some bytes are, in pages and files.
    func places(of needles: [[UInt8]]) async throws -> [String] {
        // Writes to the disk what is in memory alone.
        try await session.script("CHECKPOINT")
        var found: [String] = []
        for source in ["pages", "files"] {
            found += try await session.query(
                """
                SELECT p.place FROM public.\(source)() p CROSS JOIN unnest($1::text[]) AS n (hex)
                WHERE position(decode(n.hex, 'hex') IN p.bytes) > 0
                """, [.textArray(needles.map(hexadecimal))]
            ).map { try $0.text(0) }
        }
        return found
    }

    private func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { String(format: "%02x", $0) }.joined()
    }

    /// Everything that opens the links of a vote while it is open.
    struct Secrets: Sendable {
        /// The two halves of the wrapping key, as a page has them.
        var wrapping: [[UInt8]]
        var share: [UInt8]
        /// What seals the links.
        var linkKey: [UInt8]
        /// The vote's key in clear: for encryption, and for authentication.
        var keys: [[UInt8]]
        /// The vote's key, sealed with the key file.
        var sealedKey: [UInt8]
        /// The sealed links.
        var sealed: [[UInt8]]
    }

    func secrets(of vote: Int64) async throws -> Secrets {
        let row = try await session.query(
            """
            SELECT substr(votes.unwrap(s.wrapped, w.key), 1, 32) AS share, w.key,
                l.cipher_key AS link, o.cipher_key, o.mac_key, k.sealed
            FROM votes.votes v JOIN votes.keys k ON k.id = v.key_id
            JOIN votes.open_keys o ON o.key_id = k.id
            JOIN votes.key_shares s ON s.vote_id = v.id
            CROSS JOIN LATERAL votes.wrapping_key(s.slot) AS w (key)
            CROSS JOIN LATERAL votes.link_keys(v.id) l
            WHERE v.id = $1
            """, [.int64(vote)])
        guard let row = row.first else { throw Program.Trouble("keys of \(vote)") }
        let key = try row.bytes("key")
        return Secrets(
            // Big-endian here, little-endian there.
            wrapping: [key.prefix(8).reversed(), key.suffix(8).reversed()],
            share: try row.bytes("share"), linkKey: try row.bytes("link"),
            keys: [try row.bytes("cipher_key"), try row.bytes("mac_key")],
            sealedKey: try row.bytes("sealed"),
            sealed: try await session.query(
                "SELECT sealed FROM votes.casts WHERE vote_id = $1", [.int64(vote)]
            ).map { try $0.bytes(0) })
    }

    // MARK: The write-ahead log

    /// The place up to which the log is written.
    func logPosition() async throws -> String {
        try await session.query("SELECT pg_current_wal_insert_lsn()::text").text(0, 0)
    }

    /// Lets new sessions write full pages to the log as they are, so that they can be searched.
    func leaveLogUncompressed() async throws {
        let name = try await session.query("SELECT quote_ident(current_database())").text(0, 0)
        try await session.script("ALTER DATABASE \(name) SET wal_compression = off")
    }

    /// Keeps all files of the log from now on while `body` runs.
    func keepingLog(_ body: () async throws -> Void) async throws {
        let slot = "links_\(UUID().uuidString.prefix(8).lowercased())"
        _ = try await session.query(
            "SELECT pg_create_physical_replication_slot($1::name, true)", [.text(slot)])
        let drop = "SELECT pg_drop_replication_slot($1::name)"
        do { try await body() } catch {
            _ = try await session.query(drop, [.text(slot)])
            throw error
        }
        _ = try await session.query(drop, [.text(slot)])
    }

    /// How many of these are in the log between two places: in its files as one text, without the
    /// heads of their pages, across which records go on.
    func countInLog(_ needles: [[UInt8]], from start: String, to end: String) async throws -> Int {
        let files = try await session.query(
            """
            SELECT name FROM pg_ls_waldir()
            WHERE name BETWEEN pg_walfile_name($1::pg_lsn) AND pg_walfile_name($2::pg_lsn)
              AND length(name) = 24 ORDER BY name
            """, [.text(start), .text(end)]
        ).map { try $0.text(0) }
        let expected = try await session.query(
            """
            SELECT (pg_wal_lsn_diff($2::pg_lsn, '0/0') - 1)::bigint / size
                - (pg_wal_lsn_diff($1::pg_lsn, '0/0') - 1)::bigint / size + 1
            FROM (SELECT pg_size_bytes(current_setting('wal_segment_size')) AS size) s
            """, [.text(start), .text(end)]
        ).int64(0, 0)
        guard !files.isEmpty, files.count == expected else {
            throw Program.Trouble("\(files.count) of \(expected) files of the log: \(files)")
        }
        var found: Set<String> = []
        for (file, next) in zip(files, files.dropFirst().map(Optional.some) + [nil]) {
            found.formUnion(
                try await session.query(
                    Self.inLog,
                    [
                        .text(file), .optional(next), .textArray(needles.map(hexadecimal)),
                    ]
                ).map { try $0.text(0) })
        }
        return found.count
    }

    /// Searches a file of the log and the first pages of the next one.
    private static let inLog = """
        WITH file AS MATERIALIZED (
            SELECT pg_read_binary_file('pg_wal/' || $1) AS bytes, 0 AS number
            UNION ALL
            SELECT pg_read_binary_file('pg_wal/' || $2, 0, 32768), 1 WHERE $2 IS NOT NULL
        ), body AS MATERIALIZED (
            SELECT string_agg(substr(f.bytes, p * 8192 + CASE p WHEN 0 THEN 41 ELSE 25 END,
                8192 - CASE p WHEN 0 THEN 40 ELSE 24 END), ''::bytea ORDER BY f.number, p) AS bytes
            FROM file f CROSS JOIN LATERAL generate_series(0, length(f.bytes) / 8192 - 1) p
        )
        SELECT n.hex FROM body b CROSS JOIN unnest($3::text[]) AS n (hex)
        WHERE position(decode(n.hex, 'hex') IN b.bytes) > 0
        """

    func script(_ sql: String) async throws { try await session.script(sql) }
    func close() async { await session.close() }
}
