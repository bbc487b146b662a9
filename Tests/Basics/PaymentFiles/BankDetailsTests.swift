import Foundation
import ErrandPaymentFiles
import Testing

@Suite("Bank details")
struct BankDetailsTests {
    @Test func `accounts in Canada are taken as people write them`() throws {
        let plain = try CanadianAccount(
            institution: "003", transit: "00012", account: "0012345")
        #expect(plain.account == "0012345")
        #expect(try CanadianAccount(routing: "00012-003", account: "001-2345") == plain)
        #expect(try CanadianAccount(routing: "000300012", account: "001 23 45") == plain)
        #expect(try CanadianAccount(routing: " 00012 - 003 ", account: "0012345") == plain)
    }

    @Test(
        "what cannot be an account in Canada is refused, and why",
        arguments: [
            ("03", "00012", "12345", BankDetailsError.institutionLength),
            ("0033", "00012", "12345", .institutionLength),
            ("00a", "00012", "12345", .institutionLength),
            ("٠٠٣", "00012", "12345", .institutionLength),
            ("000", "00012", "12345", .institutionRange),
            ("900", "00012", "12345", .institutionRange),
            ("003", "0012", "12345", .transitLength), ("003", "0001x", "12345", .transitLength),
            ("003", "00012", "1234", .canadianAccountLength),
            ("003", "00012", "", .canadianAccountLength),
            ("003", "00012", "1234567890123", .canadianAccountLength),
            ("003", "00012", "12345a", .canadianAccountDigits),
            ("003", "00012", "１２３４５", .canadianAccountDigits),
        ])
    func refusedInCanada(
        institution: String, transit: String, account: String, error: BankDetailsError
    ) {
        #expect(throws: error) {
            try CanadianAccount(institution: institution, transit: transit, account: account)
        }
    }

    @Test(
        "a routing number of no known form is refused",
        arguments: [
            "", "00012", "00012003", "100300012", "0003000123", "0012-003", "00012-03", "-",
        ])
    func routingForms(routing: String) {
        #expect(throws: BankDetailsError.routingForm) {
            try CanadianAccount(routing: routing, account: "12345")
        }
    }

    @Test(
        "routing numbers that are in use are taken",
        arguments: [
            "021000021", "121000358", "011401533", "322271627", "111000025", "267084131",
            "612345674",
        ])
    func routing(routing: String) throws {
        let account = try AmericanAccount(routing: routing, account: "ab 12", kind: .savings)
        #expect(account.account == "AB12" && account.routing == routing)
    }

    @Test("every single wrong digit of a routing number is found") func checkDigit() {
        let right = Array("121000358".utf8)
        for place in right.indices {
            for digit in UInt8(ascii: "0")...UInt8(ascii: "9") where digit != right[place] {
                var wrong = right
                wrong[place] = digit
                #expect(throws: BankDetailsError.self) {
                    try AmericanAccount(
                        routing: String(decoding: wrong, as: UTF8.self), account: "12345",
                        kind: .checking)
                }
            }
        }
    }

    @Test(
        "what cannot be an account in the United States is refused, and why",
        arguments: [
            ("12100035", "12345", BankDetailsError.abaLength),
            ("1210003588", "12345", .abaLength), ("12100035x", "12345", .abaLength),
            ("000000000", "12345", .abaRange), ("131000357", "12345", .abaRange),
            ("801000355", "12345", .abaRange), ("121000359", "12345", .abaCheckDigit),
            ("121000358", "123", .americanAccountLength),
            ("121000358", "123456789012345678", .americanAccountLength),
            ("121000358", "12-345", .americanAccountCharacters),
            ("121000358", "1234é", .americanAccountCharacters),
        ])
    func refusedInTheStates(routing: String, account: String, error: BankDetailsError) {
        #expect(throws: error) {
            try AmericanAccount(routing: routing, account: account, kind: .checking)
        }
    }

    @Test func `no error holds a digit of what was given`() {
        for error in BankDetailsError.allCases {
            #expect(!error.description.contains("98765"))
            #expect(error.description.count > 20)
        }
        let text = { (body: () throws -> Void) -> String in
            do { try body() } catch { return "\(error) \(String(reflecting: error))" }
            return ""
        }
        #expect(
            !text {
                _ = try CanadianAccount(institution: "987", transit: "98765", account: "9876598765")
            }.contains("98765"))
    }

    @Test func `nothing but the last digits is shown, in any way of showing`() throws {
        let canada = try CanadianAccount(
            institution: "614", transit: "98761", account: "55566677")
        let states = try AmericanAccount(
            routing: "121000358", account: "55566677", kind: .checking)
        let short = BankDetails.canada(
            try CanadianAccount(institution: "614", transit: "98761", account: "55566"))
        #expect("\(BankDetails.canada(canada))" == "account …677 (Canada)")
        #expect("\(BankDetails.unitedStates(states))" == "account …677 (United States)")
        #expect("\(short)" == "account …66 (Canada)")
        let deposit = Deposit(
            reference: "P1", payee: "A", amount: 1, account: .canada(canada))
        let values: [Any] = [
            canada, states, BankDetails.canada(canada), BankDetails.unitedStates(states),
            [canada], Optional(canada) as Any, deposit, ["key": states],
        ]
        for value in values {
            var dumped = ""
            dump(value, to: &dumped)
            for shown in ["\(value)", String(reflecting: value), dumped] {
                #expect(!shown.contains("55566677") && !shown.contains("98761"))
                #expect(!shown.contains("614") && !shown.contains("121000358"))
            }
        }
    }

    @Test func `they go to compact JSON and back, and what was spoilt is refused`() throws {
        let details: [BankDetails] = [
            .canada(try CanadianAccount(institution: "003", transit: "00012", account: "0012345")),
            .unitedStates(
                try AmericanAccount(routing: "121000358", account: "AB12", kind: .savings)),
        ]
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let texts = try details.map { String(decoding: try encoder.encode($0), as: UTF8.self) }
        #expect(texts[0] == #"{"a":"0012345","c":"CA","i":"003","t":"00012"}"#)
        #expect(texts[1] == #"{"a":"AB12","c":"US","k":"savings","r":"121000358"}"#)
        for (text, value) in zip(texts, details) {
            #expect(
                try JSONDecoder().decode(BankDetails.self, from: Data(text.utf8)) == value)
        }
        for bad in [
            #"{"a":"0012345","c":"CA","i":"003","t":"12"}"#, #"{"c":"FR"}"#, "{}",
            #"{"a":"AB12","c":"US","k":"other","r":"121000358"}"#,
        ] {
            #expect(throws: (any Error).self) {
                try JSONDecoder().decode(BankDetails.self, from: Data(bad.utf8))
            }
        }
    }
}
