import Errand

/// Where the queries of sessions and standbys read.
enum SessionSource {
    /// All of them, with the rights of the schema's owner; without the texts of statements.
    case all
    /// For roles without that right, and older schemas: what the server shows to this role.
    case visible

    /// The errors for a role without the right, and for an older schema.
    static let refusals = ["42501", "42883", "3F000"]

    var sessions: String {
        switch self {
        case .all: "errand.sessions()"
        case .visible:
            """
            (SELECT pid, usename::text AS role, application_name, backend_type IS NULL AS is_hidden,
                state, xact_start, wait_event_type || ': ' || wait_event AS waits_for,
                age(coalesce(backend_xmin, backend_xid)) AS snapshot_age
            FROM pg_stat_activity
            WHERE datname = current_database()
              AND coalesce(backend_type, 'client backend') = 'client backend')
            """
        }
    }

    var standbys: String {
        switch self {
        case .all: "errand.standbys()"
        case .visible:
            """
            (SELECT pid, application_name, client_addr, state, replay_lsn, replay_lag,
                age(backend_xmin) AS snapshot_age
            FROM pg_stat_replication)
            """
        }
    }
}

/// Queries of the server's catalogs. They read no jobs, and need no privileges: roles without
/// privileges see less.
extension Statements {
    static func databaseServer(_ source: SessionSource) -> String {
        """
        SELECT current_setting('server_version') AS version, pg_postmaster_start_time() AS started,
            current_database()::text AS database,
            pg_database_size(current_database()) AS size, pg_is_in_recovery() AS is_standby,
            current_setting('max_connections')::int AS max_connections,
            (SELECT count(*) FROM pg_stat_activity
             WHERE datid IS NOT NULL AND backend_type IS DISTINCT FROM 'autovacuum worker')
                AS connections,
            (\(hiddenSessions(source))) AS hidden,
            current_setting('synchronous_commit') AS synchronous_commit,
            current_setting('fsync') AS fsync, current_setting('autovacuum') AS autovacuum,
            (SELECT max(to_date(right(c.relname, 8), 'YYYYMMDD'))
                    - (now() AT TIME ZONE 'UTC')::date
             FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
             WHERE i.inhparent = to_regclass('errand.finished_jobs')
               AND c.relname ~ '^finished_jobs_[0-9]{8}$') AS days_ahead
        """
    }

    /// Whether a session holds or awaits an exclusive lock of a table: reading the table's size
    /// would block.
    private static func isLocked(_ table: String) -> String {
        """
        EXISTS (SELECT FROM pg_locks k WHERE k.relation = \(table).oid
            AND k.mode = 'AccessExclusiveLock' AND k.database = (
                SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
        """
    }

    /// The size of a table; for a locked one, the size at its last vacuum.
    private static func size(_ function: String, of table: String) -> String {
        """
        CASE WHEN \(isLocked(table)) THEN \(table).relpages::bigint * 8192
            ELSE \(function)(\(table).oid) END
        """
    }

    /// The number of sessions of other roles whose activity is not visible.
    static func hiddenSessions(_ source: SessionSource) -> String {
        "SELECT count(*) FROM \(source.sessions) a WHERE a.is_hidden"
    }

    /// The tables of Errand; daily partitions are combined.
    static let databaseTables = """
        SELECT name, count(*) AS parts, sum(rows)::bigint AS rows, sum(size)::bigint AS size,
            max(vacuumed) AS vacuumed, max(analyzed) AS analyzed
        FROM (
            SELECT CASE WHEN c.relname ~ '^finished_jobs_([0-9]{8}|other)$' THEN 'finished_jobs'
                    ELSE c.relname::text END AS name,
                coalesce(nullif(s.n_live_tup, 0), greatest(c.reltuples, 0)::bigint) AS rows,
                \(size("pg_total_relation_size", of: "c")) AS size,
                greatest(s.last_vacuum, s.last_autovacuum) AS vacuumed,
                greatest(s.last_analyze, s.last_autoanalyze) AS analyzed
            FROM pg_class c LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid
            WHERE c.relnamespace = to_regnamespace('errand') AND c.relkind = 'r'
        ) t
        GROUP BY name ORDER BY size DESC, name
        """

    /// The oldest transactions of this database, except our own.
    static func oldestTransactions(_ source: SessionSource) -> String {
        """
        SELECT a.pid, a.application_name, a.role, a.state, a.xact_start AS began,
            a.snapshot_age IS NOT NULL AS holds_back, a.waits_for
        FROM \(source.sessions) a
        WHERE a.xact_start IS NOT NULL AND a.pid <> pg_backend_pid()
        ORDER BY a.xact_start LIMIT 3
        """
    }

    /// Sessions that have waited for a lock for more than a second, with their blockers.
    static func lockWaits(_ source: SessionSource) -> String {
        """
        SELECT a.pid, a.application_name, l.waitstart AS since, l.mode,
            coalesce(l.relation::regclass::text, l.locktype) AS object,
            pg_blocking_pids(a.pid) AS blockers
        FROM pg_locks l JOIN \(source.sessions) a ON a.pid = l.pid
        WHERE NOT l.granted AND l.waitstart < clock_timestamp() - interval '1 s'
        ORDER BY l.waitstart LIMIT 20
        """
    }

    static func standbyServers(_ source: SessionSource) -> String {
        """
        SELECT r.pid, r.application_name, r.state,
            extract(epoch FROM r.replay_lag)::float8 AS lag,
            pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn()
                ELSE pg_current_wal_lsn() END, r.replay_lsn)::bigint AS behind
        FROM \(source.standbys) r ORDER BY r.pid
        """
    }

    static let replicationSlots = """
        SELECT slot_name::text AS name, slot_type, active, wal_status,
            pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn()
                ELSE pg_current_wal_lsn() END, restart_lsn)::bigint AS held
        FROM pg_replication_slots ORDER BY slot_name
        """

    // MARK: Bloat

    /// The tables with their expected size: per row a header, a pointer and its columns, in pages
    /// that are as full as the table allows.
    static let tableBloat = """
        SELECT c.relname::text AS name, s.n_live_tup AS live, s.n_dead_tup AS dead,
            \(size("pg_relation_size", of: "c")) AS size,
            (CASE WHEN s.n_live_tup > 0 THEN 8192 ELSE 0 END
                + ceil(s.n_live_tup * (28 + w.width) / (w.share * 8168)) * 8192)::bigint
                AS expected,
            CASE WHEN \(isLocked("c")) THEN 0 ELSE pg_indexes_size(c.oid) END AS index_size,
            greatest(s.last_vacuum, s.last_autovacuum) AS vacuumed
        FROM pg_class c JOIN pg_stat_all_tables s ON s.relid = c.oid
        CROSS JOIN LATERAL (
            SELECT sum(coalesce(p.avg_width * (1 - p.null_frac),
                    CASE WHEN a.attlen > 0 THEN a.attlen ELSE 16 END)) AS width,
                coalesce((SELECT o.option_value::float8 FROM pg_options_to_table(c.reloptions) o
                    WHERE o.option_name = 'fillfactor'), 100) / 100 AS share
            FROM pg_attribute a
            LEFT JOIN pg_stats p ON p.schemaname = 'errand' AND p.tablename = c.relname
                AND p.attname = a.attname
            WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        ) w
        WHERE c.relnamespace = to_regnamespace('errand') AND c.relkind = 'r'
        ORDER BY s.n_dead_tup DESC, 4 DESC, c.relname LIMIT 30
        """

    /// The B-tree indexes with their expected size: per row a header, a pointer and the aligned
    /// columns, in pages that are 90 % full.
    ///
    /// The rows of a partial index are those that the last vacuum or analyze found in it.
    static let indexBloat = """
        SELECT i.relname::text AS name, t.relname::text AS of_table,
            CASE WHEN \(isLocked("t")) THEN i.relpages::bigint * 8192
                ELSE pg_relation_size(i.oid) END AS size,
            (16384 + ceil(CASE WHEN x.indpred IS NOT NULL THEN greatest(i.reltuples, 0)
                    ELSE coalesce(nullif(s.n_live_tup, 0), greatest(t.reltuples, 0)) END
                * (12 + ceil(w.width / 8.0) * 8) / (0.9 * 8152)) * 8192)::bigint AS expected
        FROM pg_index x
        JOIN pg_class i ON i.oid = x.indexrelid
        JOIN pg_am m ON m.oid = i.relam AND m.amname = 'btree'
        JOIN pg_class t ON t.oid = x.indrelid
        LEFT JOIN pg_stat_all_tables s ON s.relid = t.oid
        CROSS JOIN LATERAL (
            SELECT sum(coalesce(p.avg_width, CASE WHEN a.attlen > 0 THEN a.attlen ELSE 16 END))
                AS width
            FROM unnest(x.indkey::smallint[]) AS k (attnum)
            LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.attnum
            LEFT JOIN pg_stats p ON p.schemaname = 'errand' AND p.tablename = t.relname
                AND p.attname = a.attname
        ) w
        WHERE t.relnamespace = to_regnamespace('errand')
        ORDER BY size DESC, i.relname LIMIT 15
        """

    /// What holds back vacuum in this database for longer than $1 seconds (if known), the oldest
    /// first.
    static func pins(_ source: SessionSource) -> String {
        """
        SELECT * FROM (
            SELECT 'transaction' AS what, a.pid::text AS name, a.application_name AS who,
                a.snapshot_age AS age, a.xact_start AS since,
                concat_ws(', ', a.state, a.waits_for) AS detail
            FROM \(source.sessions) a
            WHERE a.snapshot_age IS NOT NULL AND a.pid <> pg_backend_pid()
              AND a.xact_start <= clock_timestamp() - make_interval(secs => $1)
            UNION ALL
            SELECT 'prepared transaction', gid, owner::text, age(transaction), prepared, NULL
            FROM pg_prepared_xacts
            WHERE database = current_database()
              AND prepared <= clock_timestamp() - make_interval(secs => $1)
            UNION ALL
            SELECT 'replication slot', slot_name::text, slot_type,
                greatest(age(xmin), age(catalog_xmin)), NULL,
                CASE WHEN active THEN 'in use' ELSE 'not in use' END
            FROM pg_replication_slots WHERE coalesce(xmin, catalog_xmin) IS NOT NULL
            UNION ALL
            SELECT 'standby', r.pid::text, r.application_name, r.snapshot_age, NULL,
                r.client_addr::text
            FROM \(source.standbys) r WHERE r.snapshot_age IS NOT NULL
        ) p
        ORDER BY age DESC, name LIMIT 20
        """
    }
}
