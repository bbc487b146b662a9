import ErrandPostgres
import ErrandTestServices
import Testing

/// What a login could use of the server beside Errand's schemas.
@Suite("Logins and the server", .serialized, .database) struct RoleSurfaceTests {
    private static let logins = [
        "errand_work", "errand_tick", "errand_shop", "errand_register", "errand_look",
        "errand_scale",
    ]

    @Test func `no login makes large objects`() async throws {
        let ground = try await RoleGround.shared
        for login in Self.logins {
            for call in ["lo_create(0)", "lo_creat(-1)", "lo_from_bytea(0, 'x')"] {
                #expect(try await ground.refusal(login, "SELECT \(call)") == "42501", "\(login)")
            }
        }
        #expect(
            try await ground.list("SELECT count(*)::text FROM pg_largeobject_metadata") == ["0"])
    }

    @Test func `no login enters another database`() async throws {
        let ground = try await RoleGround.shared
        for login in Self.logins {
            for other in ["postgres", "template1"] {
                let url = ground.url(login).replacing("/\(ground.database)?", with: "/\(other)?")
                let session = Session(SessionSettings(url, name: "role"))
                let error = await #expect(throws: PostgresError.self) {
                    _ = try await session.query("SELECT 1")
                }
                #expect(
                    error?.description.contains("permission denied for database") == true,
                    "\(login) \(other): \(error?.description ?? "")")
                await session.close()
            }
        }
    }
}
