import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

extension AppCommands {
    @Suite("errand transfer") struct TransferTests {
        private func export(
            _ ground: CustodyGround, to name: String = "archive", key: String = "buyer",
            environment: [String: String] = [:]
        ) async throws -> Run {
            try await errand(
                "transfer", "export", "--to", ground.path(name), "--recipient",
                ground.path("\(key).pem"), "--notified-on", CustodyGround.day, "--yes", "-ojson",
                environment: environment)
        }

        private func importing(
            _ ground: CustodyGround, into url: String, key: String = "buyer"
        ) async throws -> Run {
            try await errand(
                "transfer", "import", "--from", ground.path("archive"), "--key",
                ground.path("\(key).key"), "--yes", "-ojson", environment: ["DATABASE_URL": url])
        }

        private func people(in url: String) async throws -> Int64 {
            let session = Session(SessionSettings(url, name: "test"))
            let count = try await session.query("SELECT count(*) FROM people.people")[0].int64(0)
            await session.close()
            return count
        }

        /// The rows and hashes of the tables of an archive.
        private func tables(_ ground: CustodyGround, _ name: String) throws -> [String: JSON] {
            let data = try Data(
                contentsOf: ground.folder.appending(path: "\(name)/manifest.json"))
            let manifest = try JSONDecoder().decode(JSON.self, from: data)
            return Dictionary(
                uniqueKeysWithValues: manifest["tables"].elements.map { table in
                    (
                        table["name"].text ?? "",
                        [table["rows"], table["sha256"], table["columns"]]
                    )
                })
        }

        // "transferred if sold"
        @Test(arguments: [false, true])
        func `an archive imports into an empty database with equal rows and hashes`(
            elliptic: Bool
        ) async throws {
            let ground = try await CustodyGround()
            defer { ground.remove() }
            try await ground.keyPair("buyer", elliptic: elliptic)
            let exported = try await export(ground)
            exported.expect(0)
            #expect(try exported.record["people"] == 300)
            let hash = try exported.record["sha256"].text ?? ""
            try await errand(
                "transfer", "verify", "--from", ground.path("archive"), "--manifest-sha256", hash
            ).expect(0)
            let verified = try await errand(
                "transfer", "verify", "--from", ground.path("archive"), "--key",
                ground.path("buyer.key"), "-ojson")
            verified.expect(0)
            #expect(try verified.record["verified"] == "files and rows")
            try await errand(
                "transfer", "verify", "--from", ground.path("archive"), "--manifest-sha256", "00"
            ).expect(1, "another one than --manifest-sha256 says")

            let url = try await TestDatabase.url(with: AllModules.names)
            let imported = try await importing(ground, into: url)
            imported.expect(0)
            #expect(try imported.record["rows"] == exported.record["rows"])
            try await importing(ground, into: url).expect(4, "this database is not empty")
            let again = try await export(
                ground, to: "again", environment: ["DATABASE_URL": url])
            again.expect(0)
            #expect(try tables(ground, "archive") == tables(ground, "again"))
            // New ids go on where the old ones ended.
            let session = Session(SessionSettings(url, name: "test"))
            let next = try await session.query(
                "INSERT INTO people.people DEFAULT VALUES RETURNING id")
            #expect(try next[0].int64(0) == 301)
            let disabled = try await session.query(
                "SELECT count(*) FROM pg_trigger WHERE tgenabled = 'D'")[0].int64(0)
            #expect(disabled == 0)
            await session.close()
        }

        @Test func `openssl opens the files too`() async throws {
            let ground = try await CustodyGround()
            defer { ground.remove() }
            try await ground.keyPair("buyer")
            try await export(ground).expect(0)
            let rows = try await ground.openssl(
                "cms", "-decrypt", "-binary", "-inform", "DER", "-in",
                ground.path("archive/people/people.people.0001.cms"), "-inkey",
                ground.path("buyer.key"))
            #expect(rows.split(separator: "\n").count == 300)
            #expect(rows.contains("p17@example.org"))
            let note = try await ground.openssl(
                "cms", "-decrypt", "-binary", "-inform", "DER", "-in",
                ground.path("archive/household/household.notes.0001.cms"), "-inkey",
                ground.path("buyer.key"))
            #expect(note.contains(#"The plumber\tcomes on\\N Friday\nat nine"#))
        }

        @Test func `a changed, truncated or incomplete archive writes nothing`() async throws {
            let ground = try await CustodyGround()
            defer { ground.remove() }
            try await ground.keyPair("buyer")
            try await export(ground).expect(0)
            let url = try await TestDatabase.url(with: AllModules.names)
            let file = ground.folder.appending(path: "archive/people/people.people.0001.cms")
            let good = try Data(contentsOf: file)
            for place in [0, 40, good.count / 2, good.count - 1] {
                var bad = good
                bad[place] ^= 1
                try bad.write(to: file)
                try await importing(ground, into: url).expect(1, "was changed: its SHA-256")
            }
            try good.dropLast().write(to: file)
            try await importing(ground, into: url)
                .expect(1, "expected \(good.count)", "nothing was imported")
            try FileManager.default.removeItem(at: file)
            try await importing(ground, into: url).expect(1, "is missing")
            try good.write(to: file)
            // Also if the manifest was made to fit.
            let manifest = ground.folder.appending(path: "archive/manifest.json")
            let text = try String(contentsOf: manifest, encoding: .utf8)
            try Data(text.replacing("\"rows\" : 300", with: "\"rows\" : 299").utf8).write(
                to: manifest)
            try await importing(ground, into: url).expect(1, "other rows than were exported")
            try FileManager.default.removeItem(at: manifest)
            try await importing(ground, into: url).expect(1, "the export did not end")
            try Data(text.utf8).write(to: manifest)
            #expect(try await people(in: url) == 0)
            try await importing(ground, into: url).expect(0)
            #expect(try await people(in: url) == 300)
        }

        @Test func `another key opens nothing`() async throws {
            let ground = try await CustodyGround()
            defer { ground.remove() }
            try await ground.keyPair("buyer")
            try await ground.keyPair("other")
            try await ground.keyPair("elliptic", elliptic: true)
            try await export(ground).expect(0)
            let url = try await TestDatabase.url(with: AllModules.names)
            for key in ["other", "elliptic"] {
                try await importing(ground, into: url, key: key)
                    .expect(5, "does not open with this key", "sealed to /CN=buyer")
            }
            #expect(try await people(in: url) == 0)
            try await errand(
                "transfer", "export", "--to", ground.path("other"), "--recipient",
                ground.path("buyer.key"), "--notified-on", CustodyGround.day, "--yes"
            ).expect(2, "not a certificate")
            try await export(ground).expect(1, "the folder is not empty")
        }

        @Test func `another version or other modules are refused`() async throws {
            let ground = try await CustodyGround()
            defer { ground.remove() }
            try await ground.keyPair("buyer")
            try await export(ground).expect(0)
            let few = try await TestDatabase.url(with: ["custody"])
            try await importing(ground, into: few)
                .expect(5, "in a version that this database does not have")
            let today = String(Date().ISO8601Format().prefix(10))
            try await errand(
                "transfer", "export", "--to", ground.path("early"), "--recipient",
                ground.path("buyer.pem"), "--notified-on", today, "--yes"
            ).expect(5, "people were notified on")
        }

        @Test func `who objects is left out, and stays in the database`() async throws {
            let ground = try await CustodyGround()
            defer { ground.remove() }
            try await ground.keyPair("buyer")
            try await errand("transfer", "object", "9999").expect(3, "there is no person 9999")
            try await errand("transfer", "object", "17").expect(0)
            try await errand("transfer", "object", "203").expect(0)
            try await errand("transfer", "object", "18").expect(0)
            try await errand("transfer", "object", "18", "--withdraw").expect(0)
            try await errand("transfer", "object", "18", "--withdraw").expect(3, "does not object")
            let list = try await errand("transfer", "objections", "-ojson")
            #expect(try list.records.map { $0["person"] } == [17, 203])
            let exported = try await export(ground)
            exported.expect(0)
            #expect(try exported.record["left_out"] == 2)
            #expect(try exported.record["people"] == 298)
            #expect(
                try await number(
                    "SELECT count(*) FROM people.people WHERE email = 'p17@example.org'") == 1)
            #expect(try await number("SELECT count(*) FROM people.erasures") == 0)
            let url = try await TestDatabase.url(with: AllModules.names)
            try await importing(ground, into: url).expect(0)
            let session = Session(SessionSettings(url, name: "test"))
            let row = try await session.query(
                """
                SELECT (SELECT count(*) FROM people.people WHERE email IN
                        ('p17@example.org', 'p203@example.org')) AS addresses,
                    (SELECT count(*) FROM notification.devices WHERE person_id = 17) AS devices,
                    (SELECT count(*) FROM payouts.payees WHERE person_id = 17) AS payees,
                    (SELECT count(*) FROM ledger.accounts WHERE kind = 'person' AND owner = 17)
                        AS accounts,
                    (SELECT count(*) FROM errand.jobs WHERE args @> '{"person_id": 17}') AS jobs
                """)[0]
            #expect(try row.int64("addresses") == 0)
            #expect(try row.int64("devices") == 0)
            #expect(try row.int64("jobs") == 0)
            // The books stay.
            #expect(try row.int64("accounts") == 1)
            await session.close()
        }
    }
}
