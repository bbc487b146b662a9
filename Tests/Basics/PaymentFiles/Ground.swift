import Foundation
import ErrandGregorian
import ErrandPaymentFiles
import ErrandTestServices

/// Names that files must make something of.
let names = [
    "Élodie Brontë-Œuvray", "Jean-François d’Arcy", "Marie Tremblay", "Łukasz Świątek",
    "Straße Ünal", "Nguyễn Thị Ngọc Ánh", "O'Brien, Ltd.",
    "Maria-Magdalena van den Oetelaar-Vandenberghe the Third",
    // Thirty letters would end in a blank; marks of its own; a sign and an emoji.
    "Abcdefghijklmnopqrstuvwxyzabc defgh", "Zoe\u{301} Noe\u{308}l", "★ Ana 🙂 Bø ★",
    "  José\u{A0}María\tdel  Río ",
]

func day(_ year: Int, _ month: Int, _ day: Int) -> CivilDate {
    CivilDate(year: year, month: month, day: day)
}

/// The path of a checker.
func simulator(_ name: String) -> String {
    Checkout.simulators.appending(path: name).path
}

func withFolder<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
    let folder = try temporaryFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder)
}

func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

/// Holds a file against what was asked for; returns what the checker said.
///
/// With one payment the checker also proves that it would notice a change of any byte.
func check(
    _ bytes: [UInt8], with checker: String, profile: [String: Any], payments: [[String: Any]]
) async throws -> String {
    let expected = try JSONSerialization.data(
        withJSONObject: ["profile": profile, "payments": payments])
    return try await withFolder { folder in
        let files = ["file", "expected.json"].map { folder.appending(path: $0) }
        try Data(bytes).write(to: files[0])
        try expected.write(to: files[1])
        let proof = payments.count == 1 ? ["--each-byte"] : []
        return try await output(
            of: ["python3", "-B", simulator(checker)] + files.map(\.path) + proof)
    }
}

/// An AFT file and how the checker knows it.
struct AFTCase {
    var profile: AFTProfile
    var number = 42
    var created = day(2026, 12, 31)
    var paid = day(2027, 1, 15)

    init() throws {
        profile = AFTProfile(
            originatorID: "ORIG000001", dataCentre: "01020", directClearer: "00320",
            shortName: "Sondage Été", longName: "Sondages d’été du Québec inc.",
            returnAccount: try CanadianAccount(
                institution: "003", transit: "12345", account: "1234567"))
    }

    func write(_ deposits: [Deposit]) throws -> (bytes: [UInt8], totals: FileTotals) {
        var bytes: [UInt8] = []
        var file = try AFTFile(
            profile, number: number, created: created, paid: paid, to: &bytes)
        for deposit in deposits { try file.add(deposit, to: &bytes) }
        let totals = try file.end(to: &bytes)
        return (bytes, totals)
    }

    func check(_ bytes: [UInt8], _ deposits: [Deposit]) async throws -> String {
        let home = profile.returnAccount
        return try await ErrandPaymentFilesTests.check(
            bytes, with: "oracles/aft_check.py",
            profile: [
                "originator": profile.originatorID, "number": number,
                "created": iso(created), "paid": iso(paid), "centre": profile.dataCentre,
                "clearer": profile.directClearer, "short": profile.shortName,
                "long": profile.longName, "code": profile.transactionCode,
                "trace": profile.traceNumber.rawValue, "settlement": profile.settlementCode,
                "currency": profile.currency, "ends": profile.endsLines,
                "home": [
                    "institution": home.institution, "transit": home.transit,
                    "account": home.account,
                ],
            ],
            payments: deposits.map { deposit in
                guard case .canada(let account) = deposit.account else { return [:] }
                return [
                    "reference": deposit.reference, "name": deposit.payee,
                    "amount": deposit.amount, "note": deposit.note,
                    "institution": account.institution, "transit": account.transit,
                    "account": account.account,
                ]
            })
    }
}

/// A Nacha file and how the checker knows it.
struct NACHACase {
    var profile = NACHAProfile(
        destination: "021000021", destinationName: "First Bank", origin: "123456789",
        originName: "Sondages d’été", companyName: "Sondages", companyID: "1123456789",
        odfi: "121000358")
    var limit = 999_999
    var modifier: Character = "A"

    func write(_ deposits: [Deposit]) throws -> (bytes: [UInt8], totals: FileTotals) {
        var bytes: [UInt8] = []
        var file = try NACHAFile(
            profile, modifier: modifier, created: day(2026, 12, 31), minute: 9 * 60 + 5,
            effective: day(2027, 1, 15), batchLimit: limit, to: &bytes)
        for deposit in deposits { try file.add(deposit, to: &bytes) }
        let totals = try file.end(to: &bytes)
        return (bytes, totals)
    }

    func check(_ bytes: [UInt8], _ deposits: [Deposit]) async throws -> String {
        try await ErrandPaymentFilesTests.check(
            bytes, with: "oracles/nacha_check.py",
            profile: [
                "destination": profile.destination, "destination_name": profile.destinationName,
                "origin": profile.origin, "origin_name": profile.originName,
                "company": profile.companyName, "company_id": profile.companyID,
                "odfi": profile.odfi, "description": profile.entryDescription,
                "class": profile.entryClass.rawValue, "created": "2026-12-31", "time": "0905",
                "effective": "2027-01-15", "modifier": String(modifier), "limit": limit,
                "cr": profile.endsLinesWithCR,
            ],
            payments: deposits.map { deposit in
                guard case .unitedStates(let account) = deposit.account else { return [:] }
                return [
                    "reference": deposit.reference, "name": deposit.payee,
                    "amount": deposit.amount, "routing": account.routing,
                    "account": account.account, "kind": account.kind.rawValue,
                ]
            })
    }
}

func iso(_ date: CivilDate) -> String {
    String(format: "%04d-%02d-%02d", date.year, date.month, date.day)
}

/// Payments into Canada with amounts from a cent to the most that there is.
func canadian(_ count: Int) throws -> [Deposit] {
    try (0..<count).map { place in
        let account = String(String(1_234_567_890_123 + place).suffix(5 + place % 8))
        return Deposit(
            reference: "P-\(String(place, radix: 36, uppercase: true))",
            payee: names[place % names.count],
            amount: place % 7 == 3 ? AFTFile.mostAmount / 100_000 : Int64(place) + 1,
            account: .canada(
                try CanadianAccount(
                    institution: ["001", "003", "815", "614"][place % 4],
                    transit: String(String(100_000 + place % 99_999).suffix(5)),
                    account: account)),
            note: place % 5 == 0 ? "été \(place)" : "")
    }
}

/// Payments into the United States.
func american(_ count: Int) throws -> [Deposit] {
    let banks = ["021000021", "121000358", "011401533", "322271627"]
    return try (0..<count).map { place in
        Deposit(
            reference: "US\(place)", payee: names[place % names.count],
            amount: place % 7 == 3 ? NACHAFile.mostAmount / 1_000_000 : Int64(place) + 1,
            account: .unitedStates(
                try AmericanAccount(
                    routing: banks[place % banks.count],
                    account: String("A1234567890123456".prefix(4 + place % 14)),
                    kind: place % 3 == 0 ? .savings : .checking)))
    }
}
