import ErrandPostgres
import ErrandTestServices
import Testing

/// What the catalog says that each role may do, against what is written down here: a migration that
/// gives somebody more changes this file too.
@Suite("Rights in the catalog", .serialized, .database) struct RoleCatalogTests {
    private static let schemas = """
        ('errand', 'people', 'notification', 'establishments', 'coupons', 'ledger', 'payouts',
            'votes', 'missions', 'household')
        """
    private static let roles = """
        unnest('{errand_worker,errand_scheduler,errand_app,errand_till,errand_inspector,\
        errand_autoscaler}'::text[])
        """

    /// Tables and views, the days' partitions left out, with a role's rights to all their columns.
    private func tables(of role: String) async throws -> [String] {
        try await RoleGround.shared.list(
            """
            SELECT t.name || ' ' || string_agg(left(p.name, 1), '' ORDER BY p.at)
            FROM (
                SELECT c.oid, format('%I.%I', n.nspname, c.relname) AS name
                FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE n.nspname IN \(Self.schemas) AND c.relkind IN ('r', 'p', 'v')
                  AND c.relname !~ '^finished_jobs_[0-9]'
            ) AS t
            CROSS JOIN unnest('{SELECT,INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER}'::text[])
                WITH ORDINALITY AS p (name, at)
            WHERE has_table_privilege($1, t.oid, p.name)
            GROUP BY t.name ORDER BY t.name
            """, [.text(role)])
    }

    /// The same of single columns, where it has no right to the whole.
    private func columns(of role: String, _ privilege: String) async throws -> [String] {
        try await RoleGround.shared.list(
            """
            SELECT format('%I.%I ', n.nspname, c.relname)
                || string_agg(a.attname, ',' ORDER BY a.attnum)
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            WHERE n.nspname IN \(Self.schemas) AND c.relkind IN ('r', 'p')
              AND NOT has_table_privilege($1, c.oid, $2)
              AND has_column_privilege($1, c.oid, a.attnum, $2)
            GROUP BY n.nspname, c.relname ORDER BY 1
            """, [.text(role), .text(privilege)])
    }

    /// Functions with an effect, or with their owner's rights, that a role may call.
    private func functions(of role: String) async throws -> [String] {
        try await RoleGround.shared.list(
            """
            SELECT DISTINCT n.nspname || '.' || p.proname
            FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
            WHERE n.nspname IN \(Self.schemas) AND (p.provolatile = 'v' OR p.prosecdef)
              AND has_schema_privilege($1, n.oid, 'USAGE')
              AND has_function_privilege($1, p.oid, 'EXECUTE')
            ORDER BY 1
            """, [.text(role)])
    }

    @Test func `a worker changes rows, but for settings, records and bank details`() async throws {
        let lesser = try await tables(of: "errand_worker").filter { !$0.hasSuffix(" SIUD") }
        #expect(
            lesser == [
                "coupons.code_series S", "coupons.guess_limits S", "errand.audit SI",
                "errand.instance S", "errand.migrations S", "errand.modules S", "household.rules S",
                "ledger.account_kinds S", "ledger.currencies S", "ledger.kept_kinds S",
                "ledger.owner_kinds S", "ledger.pay_rules S",
                "ledger.postings SI", "ledger.transactions SI", "missions.rules S",
                "notification.apps S",
                "payouts.changes SI", "payouts.rules S", "votes.ballots SI", "votes.nodes SI",
                "votes.rules S",
            ])
        #expect(
            try await columns(of: "errand_worker", "SELECT") == [
                "payouts.bank_details person_id,given_at,refused_at,country,hint,refused_for",
                "payouts.items file_id,payout_id,person_id,given_at,lines",
            ])
        #expect(
            try await columns(of: "errand_worker", "UPDATE") == ["coupons.code_series series"])
    }

    @Test func `a worker calls no function that has its owner's rights, but for these`()
        async throws
    {
        let names = try await RoleGround.shared.list(
            """
            SELECT n.nspname || '.' || p.proname
            FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
            WHERE p.prosecdef AND n.nspname IN \(Self.schemas)
              AND has_function_privilege('errand_worker', p.oid, 'EXECUTE') ORDER BY 1
            """)
        #expect(
            names == [
                "errand.begin_finished_day", "errand.check_finished_day",
                "errand.create_finished_day", "errand.drop_expired_day", "errand.enqueue_job",
                "errand.forget_audit", "errand.lane_jobs", "errand.lanes_between",
                "errand.raise_daily_days", "missions.has_home",
                "notification.emit", "notification.has_two_secrets", "notification.intend",
                "votes.has_password",
            ])
        let callable = Set(try await functions(of: "errand_worker"))
        for money in [
            "approve", "begin_issue", "freeze", "publish", "settle", "take_back",
            "take_return", "hold", "release", "reissue", "void",
        ] {
            #expect(!callable.contains("payouts." + money))
        }
    }

    @Test func `a scheduler has schedules and new jobs`() async throws {
        #expect(
            try await tables(of: "errand_scheduler") == [
                "errand.activity S", "errand.dead_jobs S", "errand.finished_jobs S",
                "errand.instance S", "errand.jobs SI", "errand.kinds S", "errand.lanes S",
                "errand.leaders SIUD", "errand.migrations S", "errand.modules S",
                "errand.polled_lanes S", "errand.queues SI", "errand.schedule_misses SIUD",
                "errand.schedule_occurrences SIUD", "errand.schedules SIU", "errand.workers S",
            ])
        #expect(
            try await columns(of: "errand_scheduler", "UPDATE") == ["errand.jobs cancel_requested"])
        #expect(
            try await functions(of: "errand_scheduler") == [
                "errand.lane_jobs", "errand.lanes_between", "errand.put_schedule", "errand.wake",
            ])
    }

    @Test func `app servers have their own rows, and functions; tills two of them`() async throws {
        #expect(
            try await tables(of: "errand_app") == [
                "errand.instance S", "errand.kinds S", "errand.migrations S", "errand.modules S",
                "errand.polled_lanes S", "establishments.branches SIU",
                "establishments.establishments SIU",
                "notification.preferences SIUD",
            ])
        #expect(
            try await columns(of: "errand_app", "SELECT") == ["errand.jobs id,run_at"])
        let functions = try await functions(of: "errand_app")
        #expect(
            functions.filter { $0.hasPrefix("errand.") || $0.hasPrefix("notification.") } == [
                "errand.enqueue", "errand.enqueue_job", "errand.wake", "notification.emit",
                "notification.inbox", "notification.intend", "notification.mark_read",
                "notification.register_device", "notification.unregister_device",
                "notification.unsubscribe",
            ])
        #expect(functions.filter { $0.hasPrefix("people.") } == ["people.put_person"])
        #expect(try await tables(of: "errand_till") == [])
        #expect(
            try await self.functions(of: "errand_till") == ["coupons.redeem", "coupons.verify"])
    }

    @Test func `an inspector reads all but secrets, sealed values and addresses`() async throws {
        let tables = try await tables(of: "errand_inspector")
        #expect(tables.allSatisfy { $0.hasSuffix(" S") })
        let hidden = try await RoleGround.shared.list(
            """
            SELECT format('%I.%I.%I', n.nspname, c.relname, a.attname)
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            WHERE n.nspname IN \(Self.schemas) AND c.relkind IN ('r', 'p', 'v')
              AND NOT has_column_privilege('errand_inspector', c.oid, a.attnum, 'SELECT')
            ORDER BY 1
            """)
        #expect(
            hidden == [
                "coupons.epochs.sealed", "coupons.open_secrets.inner_block",
                "coupons.open_secrets.outer_block", "coupons.redemptions.code_hash",
                "household.bills.receipt", "household.notes.body", "missions.shoppers.home",
                "missions.steps.content", "notification.devices.token",
                "notification.endpoints.previous_secret", "notification.endpoints.secret",
                "notification.events.data", "notification.inbox_items.body",
                "notification.inbox_items.title", "notification.notices.data",
                "notification.parked_items.body", "notification.parked_items.title",
                "payouts.bank_details.sealed", "payouts.items.address", "payouts.items.payee",
                "payouts.items.sealed", "payouts.payees.address", "payouts.payees.name",
                "people.people.email", "people.people.unsubscribe_token",
                "votes.ballots.nonce", "votes.casts.sealed", "votes.keys.sealed",
                "votes.open_keys.cipher_key", "votes.open_keys.mac_key",
                "votes.open_keys.password_mac", "votes.participants.address",
                "votes.votes.password_hash",
            ])
        #expect(
            try await functions(of: "errand_inspector") == [
                "errand.expect", "errand.lane_jobs", "errand.lanes_between", "household.debts",
                "missions.has_home",
                "notification.has_two_secrets", "votes.has_password", "votes.verify_receipt",
            ])
        for secret in ["scramble_keys()", "handle_of(bigint)", "coupon_of(bigint)"] {
            let may = try await RoleGround.shared.list(
                "SELECT has_function_privilege('errand_inspector', $1, 'EXECUTE')::text",
                [.text("coupons." + secret)])
            #expect(may == ["false"])
        }
    }

    @Test func `an autoscaler has a view, and nobody has anything for being there`() async throws {
        #expect(try await tables(of: "errand_autoscaler") == ["errand.queue_depth S"])
        // What the view calls; and what all have, and USAGE.
        #expect(
            try await functions(of: "errand_autoscaler") == [
                "errand.lane_jobs", "errand.lanes_between",
            ])
    }

    @Test func `no role owns, makes or empties anything, or passes its rights on`() async throws {
        let ground = try await RoleGround.shared
        let owned = try await ground.list(
            """
            SELECT DISTINCT pg_get_userbyid(c.relowner)::text FROM pg_class c
            JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname IN \(Self.schemas)
            """)
        #expect(owned == ["errand_owner"])
        let able = try await ground.list(
            """
            SELECT r.name || ' ' || n.nspname FROM \(Self.roles) AS r (name), pg_namespace n
            WHERE has_schema_privilege(r.name, n.oid, 'CREATE')
            UNION ALL
            SELECT r.name || ' ' || c.oid::regclass FROM \(Self.roles) AS r (name), pg_class c
            JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname IN \(Self.schemas) AND c.relkind IN ('r', 'p', 'v')
              AND (has_table_privilege(r.name, c.oid, 'TRUNCATE')
                OR has_table_privilege(r.name, c.oid, 'TRIGGER')
                OR has_table_privilege(r.name, c.oid, 'REFERENCES')
                OR has_any_column_privilege(r.name, c.oid, 'SELECT WITH GRANT OPTION'))
            UNION ALL
            SELECT rolname::text FROM pg_roles JOIN \(Self.roles) AS r (name) ON rolname = name
            WHERE rolcanlogin OR rolsuper OR rolcreaterole OR rolcreatedb OR rolbypassrls
            """)
        #expect(able == [])
    }

    @Test func `what runs with its owner's rights looks for names in no schema of others`()
        async throws
    {
        let open = try await RoleGround.shared.list(
            """
            SELECT p.oid::regprocedure::text FROM pg_proc p
            JOIN pg_namespace n ON n.oid = p.pronamespace
            WHERE n.nspname IN \(Self.schemas) AND p.prosecdef
              AND 'search_path=pg_catalog, pg_temp' = ANY (p.proconfig) IS NOT TRUE
            """)
        #expect(open == [])
    }

    @Test func `a later migration's tables are the worker's, its functions nobody's`()
        async throws
    {
        let ground = try await RoleGround.shared
        let session = ground.session("errand_owner")
        try await session.script(
            """
            CREATE TABLE ledger.later (x int);
            CREATE FUNCTION ledger.later() RETURNS int LANGUAGE sql AS 'SELECT 1'
            """)
        let found = try await ground.list(
            """
            SELECT r.name || ' ' || has_table_privilege(r.name, 'ledger.later', 'SELECT') || ' '
                || has_function_privilege(r.name, 'ledger.later()', 'EXECUTE')
            FROM \(Self.roles) AS r (name) ORDER BY 1
            """)
        try await session.script("DROP TABLE ledger.later; DROP FUNCTION ledger.later()")
        await session.close()
        #expect(
            found == [
                "errand_app false false", "errand_autoscaler false false",
                "errand_inspector false false", "errand_scheduler false false",
                "errand_till false false", "errand_worker true false",
            ])
    }
}
