import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Rights in the schema custody", .database) struct CustodyRightsTests {
    @Test(arguments: ["errand_app", "errand_till", "errand_worker", "errand_scheduler"])
    func `only operators plan, approve and export`(role: String) async throws {
        let (session, _) = try await TestDatabase.here().login(as: role)
        for call in [
            "custody.plan('a', NULL, current_date, false, NULL, '{}', '{}')",
            "custody.approve(NULL, 'b')", "custody.begin_destruction(NULL, 'a')",
            "custody.empty_module(1, 'people')", "custody.leave_out()", "custody.begin_import()",
        ] {
            let error = await #expect(throws: PostgresError.self) {
                try await session.query("SELECT \(call)")
            }
            #expect(error?.sqlState == "42501", "\(role): \(call)")
        }
        await session.close()
    }

    @Test func `a login of the owner's group is another login`() async throws {
        let owner = try TestDatabase.here().session()
        let (other, _) = try await TestDatabase.here().login(as: "errand")
        _ = try await owner.query(
            "SELECT custody.plan('ann', NULL, current_date, false, NULL, '{}', '{}')")
        let same = await #expect(throws: PostgresError.self) {
            try await owner.query("SELECT custody.approve(NULL, 'bob')")
        }
        #expect(same?.sqlState == "RU001")
        let person = await #expect(throws: PostgresError.self) {
            try await other.query("SELECT custody.approve(NULL, ' Ann')")
        }
        #expect(person?.sqlState == "RU001")
        _ = try await other.query("SELECT custody.approve(NULL, 'bob')")
        let state = try await owner.query("SELECT state FROM custody.destructions")[0].text(0)
        #expect(state == "approved")
        await owner.close()
        await other.close()
    }

    @Test func `erasing a person deletes the objection`() async throws {
        let session = try TestDatabase.here().session()
        try await session.script(
            "INSERT INTO people.people (id) VALUES (17); SELECT custody.object(17, 'ann')")
        let data = try await session.query(
            "SELECT jsonb_array_length(custody.personal_data(17) -> 'objections')")[0].int32(0)
        #expect(data == 1)
        for rows in [1, 0] as [Int64] {
            let erased = try await session.query("SELECT rows FROM custody.erase(17)")[0].int64(0)
            #expect(erased == rows)
        }
        await session.close()
    }

    @Test func `every table of every module is exported, kept or local`() async throws {
        let session = try TestDatabase.here().session()
        let row = try await session.query(
            """
            SELECT (SELECT count(*) FROM custody.tables()) AS tables,
                (SELECT count(*) FROM custody.exported() WHERE copy_out IS NULL) AS unordered,
                (SELECT count(*) FROM custody.tables() WHERE NOT is_bookkeeping AND NOT is_local)
                    - (SELECT count(*) FROM custody.exported()) AS missing,
                (SELECT count(*) FROM custody.occupied()) AS occupied
            """)[0]
        #expect(try row.int64("tables") > 100)
        #expect(try row.int64("unordered") == 0)
        #expect(try row.int64("missing") == 0)
        #expect(try row.int64("occupied") == 0)
        await session.close()
    }
}
