import ErrandCrypto
import Foundation
import ErrandGregorian
import Errand
import ErrandLedger
import ErrandPaymentFiles
import ErrandPayouts
import ErrandPostgres
import ErrandTestServices
import Testing

func day(_ year: Int, _ month: Int, _ day: Int) -> CivilDate {
    CivilDate(year: year, month: month, day: day)
}

/// People who have earned something in the third quarter of 2026, and a run that is approved.
///
/// Of four people one has an account in Canada, one in the United States and dollars from there,
/// one has none, and one has dollars and an account in Canada.
struct PayoutGround: Sendable {
    let session: Session
    let pool: Pool
    let client: JobClient
    let keys: SealingKeys
    let book: BankBook
    let people: Int
    let run: Int64
    let folder: URL

    static let names = [
        "Élodie Brontë-Œuvray", "Jean-François d’Arcy", "Łukasz Świątek", "Marie Tremblay",
        "O'Brien, Ltd.",
    ]

    /// The day on which it is issued: a Friday after the run's pay date.
    static let today = day(2026, 11, 20)
    static let payDate = day(2026, 11, 23)

    init(people: Int = 12) async throws {
        let database = try TestDatabase.here()
        session = database.session()
        pool = database.pool()
        client = try await JobClient(pool: pool)
        keys = try SealingKeys(current: SealingKey(id: "first", secret: .random(32)))
        book = BankBook(sealing: keys)
        self.people = people
        folder = try temporaryFolder()
        try await Self.fill(people, session, book)
        run = try await Self.close(session)
    }

    /// A run with its files in a folder that is gone afterwards.
    static func with(
        people: Int = 12, _ body: (PayoutGround) async throws -> Void
    ) async throws {
        let ground = try await PayoutGround(people: people)
        defer { try? FileManager.default.removeItem(at: ground.folder) }
        try await body(ground)
    }

    static func name(of person: Int) -> String { "\(names[person % names.count]) \(person)" }

    static func account(of person: Int) throws -> BankDetails? {
        switch person % 4 {
        case 1, 0:
            .canada(
                try CanadianAccount(
                    institution: "003", transit: String(10_000 + person),
                    account: String(7_654_321 + person)))
        case 2:
            .unitedStates(
                try AmericanAccount(
                    routing: "121000358", account: String(5_550_000 + person),
                    kind: person % 8 == 2 ? .checking : .savings))
        default: nil
        }
    }

    static func currency(of person: Int) -> String {
        person % 4 == 2 || person % 4 == 0 ? "USD" : "CAD"
    }

    /// What a person earned by a survey and by three missions, in cents.
    static func earned(by person: Int) -> Int64 { Int64(250 + person) + 3 * Int64(1_000 + person) }

    private static func fill(_ people: Int, _ session: Session, _ book: BankBook) async throws {
        _ = try await session.query(
            """
            INSERT INTO people.people (id, birth_date, age_verified_at)
            SELECT n, '1990-01-01', '2026-01-01' FROM generate_series(1, $1) n
            """, [.int64(Int64(people))])
        _ = try await session.query(
            "INSERT INTO establishments.establishments (id, name) VALUES (1, 'S')")
        for person in 1...people {
            let id = Int64(person)
            _ = try await session.query(
                "SELECT payouts.set_payee($1, $2, $3)",
                [
                    .int64(id), .text(name(of: person)),
                    .textArray(["\(person) rue de l'Été", "Montréal QC  H2X 1Y4"]),
                ])
            if let details = try account(of: person) {
                try await book.write(details, of: id, session)
            }
            let currency = currency(of: person)
            try await credit(id, "survey:1", 250 + id, currency, session)
            for mission in 1...3 {
                try await credit(id, "mission:\(mission)", 1_000 + id, currency, session)
            }
        }
    }

    private static func credit(
        _ person: Int64, _ source: String, _ cut: Int64, _ currency: String, _ session: Session
    ) async throws {
        _ = try await session.query(
            "SELECT ledger.credit_reward($1, $2, 1, $3, $4, $5, '2026-08-15T12:00:00Z')",
            [
                .int64(person), .text(source), .int64(2 * cut), .int64(cut), .text(currency),
            ])
    }

    private static func close(_ session: Session) async throws -> Int64 {
        let run = try await session.query(
            """
            SELECT payouts.run_of('2026-Q3', '2026-10-01T04:00:00Z', 'America/Toronto',
                '2026-10-15')
            """
        ).int64(0, 0)
        let chunks = try await session.query(
            "SELECT payouts.begin_close($1, clock_timestamp(), 5, 'closer')", [.int64(run)]
        ).int32(0, 0)
        for chunk in 1...chunks {
            _ = try await session.query(
                "SELECT payouts.close_chunk($1, $2)", [.int64(run), .int32(chunk)])
        }
        _ = try await session.query("SELECT payouts.end_close($1)", [.int64(run)])
        _ = try await session.query("UPDATE payouts.rules SET allows_shared_login = true")
        _ = try await session.query(
            "SELECT payouts.approve($1, 'approver', NULL, true)", [.int64(run)])
        return run
    }

    // MARK: Issuing

    static let profileJSON = """
        {
          "company": {"name": "Sondages d’été inc.", "address": ["1 rue Une", "Montréal QC"]},
          "aft": {"CAD": {
            "originator_id": "ORIG000001", "data_centre": "01020", "direct_clearer": "00320",
            "short_name": "Sondage Été", "long_name": "Sondages d’été du Québec inc.",
            "return_account": {"institution": "003", "transit": "12345", "account": "9998887"}}},
          "nacha": {
            "destination": "021000021", "destination_name": "First Bank", "origin": "123456789",
            "origin_name": "Sondages", "company_name": "Sondages", "company_id": "1123456789",
            "odfi": "121000358"},
          "cheques": {
            "CAD": {"bank": "Banque Une", "account": "1234567", "first_number": 501},
            "USD": {"bank": "Banque Une", "account": "7654321"}}
        }
        """

    static func profile(without key: String? = nil) throws -> IssueProfile {
        let json = try JSONSerialization.jsonObject(with: Data(profileJSON.utf8))
        var object = try #require(json as? [String: Any])
        if let key { object[key] = nil }
        return try IssueProfile(json: Array(try JSONSerialization.data(withJSONObject: object)))
    }

    func issuing(
        _ profile: IssueProfile? = nil, book: BankBook? = nil, page: Int = 1_000
    ) throws -> Issuing {
        Issuing(
            pool: pool, client: client, book: book ?? self.book,
            profile: try profile ?? Self.profile(), actor: "issuer", pageSize: page)
    }

    @discardableResult
    func issue(
        page: Int = 1_000, isDone: (Issuing.Step) throws -> Void = { _ in }
    ) async throws -> IssueRecord {
        try await issuing(page: page).issue(
            run: run, in: folder.path, today: Self.today, isDone: isDone)
    }

    // MARK: Looking

    func number(_ sql: String, _ parameters: [Parameter] = []) async throws -> Int64 {
        try await session.query(sql, parameters).int64(0, 0)
    }

    func inTransit(_ currency: String) async throws -> Int64 {
        try await number(
            "SELECT ledger.balance(ledger.account('payouts_in_transit', 0, $1))", [.text(currency)])
    }

    /// The last payout of a person.
    func payout(of person: Int) async throws -> PayoutRecord {
        let id = try await number(
            "SELECT max(id) FROM payouts.payouts WHERE person_id = $1", [.int64(Int64(person))])
        let found = try await PayoutRows(session: session).payout(id)
        return try #require(found)
    }

    /// How many people are told of an event.
    func told(_ event: String) async throws -> Int64 {
        try await number(
            """
            SELECT coalesce(sum(jsonb_array_length(args -> 'payouts')), 0)::bigint
            FROM errand.jobs WHERE kind = 'payouts.notify' AND args ->> 'event' = $1
            """, [.text(event)])
    }

    func file(_ issue: IssueRecord, _ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: folder.appending(path: "\(issue.label)/\(name)")))
    }

    func contents(_ issue: IssueRecord, in parent: URL? = nil) throws -> [String: Data] {
        let place = (parent ?? folder).appending(path: issue.label)
        var contents: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: place.path) {
            contents[name] = try Data(contentsOf: place.appending(path: name))
        }
        return contents
    }
}

/// Holds a file against what was asked for, by a parser that shares no code with the writer.
func check(
    _ file: URL, with checker: String, profile: [String: Any], payments: [[String: Any]]
) async throws -> String {
    let folder = try temporaryFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let expected = folder.appending(path: "expected.json")
    try JSONSerialization.data(withJSONObject: ["profile": profile, "payments": payments])
        .write(to: expected)
    let simulator = Checkout.simulators.appending(path: checker)
    return try await output(of: ["python3", "-B", simulator.path, file.path, expected.path])
}
