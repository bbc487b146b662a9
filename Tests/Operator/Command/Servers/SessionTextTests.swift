import ErrandPostgres
import ErrandTestServices
import Testing

/// What a login learns of the statements of others, which may hold what an app did not bind.
@Suite("Statements of others", .serialized, .database) struct SessionTextTests {
    private static let others = [
        "errand_work", "errand_tick", "errand_register", "errand_look", "errand_scale",
    ]

    /// A transaction of an app that stays open, with a secret in its text.
    private func withSecret(
        _ body: (RoleGround, _ secret: String, _ pid: Int) async throws -> Void
    ) async throws {
        let ground = try await RoleGround.shared
        let secret = "the vote of 47"
        let shop = ground.session("errand_shop")
        let pid = Int(try await shop.query("SELECT pg_backend_pid()").int32(0, 0))
        try await shop.script("BEGIN; SELECT '\(secret)'")
        do { try await body(ground, secret, pid) } catch {
            await shop.close()
            throw error
        }
        await shop.close()
    }

    @Test func `no login but the owner's reads the text of another's statement`() async throws {
        try await withSecret { ground, secret, pid in
            let text = "SELECT query FROM pg_stat_activity WHERE pid = \(pid)"
            #expect(try await ground.list(text).first?.contains(secret) == true)
            for login in Self.others {
                let session = ground.session(login)
                let found = try await session.query(text).text(0, 0)
                #expect(found == "<insufficient privilege>", "\(login)")
                await session.close()
            }
        }
        let readers = try await RoleGround.shared.list(
            """
            SELECT m.rolname::text FROM pg_roles m
            WHERE m.rolname LIKE 'errand%' AND NOT m.rolsuper
              AND pg_has_role(m.oid, 'pg_read_all_stats', 'MEMBER') ORDER BY 1
            """)
        #expect(readers == ["errand_owner"])
    }

    @Test func `operators see since when it is open and what it waits for`() async throws {
        try await withSecret { ground, secret, pid in
            for login in ["errand_work", "errand_look"] {
                let session = ground.session(login)
                let row = try #require(
                    try await session.query(
                        """
                        SELECT role, is_hidden, state, xact_start < clock_timestamp() AS is_open,
                            waits_for, s::text AS everything
                        FROM errand.sessions() s WHERE pid = $1
                        """, [.int32(Int32(pid))]
                    ).first)
                #expect(try row.text("role") == "errand_shop" && !row.bool("is_hidden"))
                #expect(try row.text("state") == "idle in transaction" && row.bool("is_open"))
                #expect(try row.text("waits_for") == "Client: ClientRead")
                #expect(try !row.text("everything").contains(secret))
                await session.close()
                let run = try await errand(
                    "db", "status", "-ojson", environment: ground.environment(login))
                run.expect(0)
                let shown = try run.record["oldest_transactions"].elements
                #expect(shown.contains { $0["role"] == "errand_shop" }, "\(run)")
                #expect(try run.record["hidden_sessions"] == 0)
                #expect(!run.output.contains(secret))
            }
        }
    }

    @Test func `a login without the group's right calls neither function`() async throws {
        let ground = try await RoleGround.shared
        for login in ["errand_tick", "errand_shop", "errand_register", "errand_scale"] {
            for function in ["sessions", "standbys"] {
                let refusal = try await ground.refusal(
                    login, "SELECT count(*) FROM errand.\(function)()")
                #expect(refusal == "42501" || refusal == "3F000", "\(login) \(function)")
            }
        }
    }
}
