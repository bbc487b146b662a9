import ErrandNotification
import ErrandRecurrence
import Testing

@Suite("Facts in templates") struct TemplatesFactsTests {
    @Test(
        "every type has its own way to be written",
        arguments: [
            ("title", #""Café “Élan” 👩‍👩‍👧""#, "Café “Élan” 👩‍👩‍👧"),
            ("title", #""a \"b\" \u00e9 \ud83c\udf75 \/ c""#, "a \"b\" é 🍵 / c"),
            (
                "title", #""one\r\ntwo\n\n\n\nthree\tfour\u0007\u202eevil\u2028""#,
                "one\ntwo\n\nthree fourevil"
            ),
            ("count", "0", "0"), ("count", "1", "1"), ("count", "1234567", "1,234,567"),
            ("away", "0", "10 m"), ("away", "4.9", "10 m"), ("away", "119.4", "120 m"),
            ("away", "994.9", "990 m"), ("away", "995", "1.0 km"), ("away", "1240", "1.2 km"),
            ("away", "9949", "9.9 km"), ("away", "9950", "10 km"), ("away", "1.4e4", "14 km"),
            ("away", "5551759.4", "5,552 km"),
            ("pay", #"{"minor":5,"currency":"CAD"}"#, "CA$0.05"),
            ("pay", #"{"currency":"USD","minor":123456789}"#, "US$1,234,567.89"),
            ("pay", #"{"minor":-250,"currency":"EUR"}"#, "-€2.50"),
            ("pay", #"{"minor":1230,"currency":"CHF"}"#, "12.30 CHF"),
            ("pay", #"{"minor":1230,"currency":"JPY"}"#, "1,230 JPY"),
            ("pay", #"{"minor":7,"currency":"KWD"}"#, "0.007 KWD"),
            (
                "pay", #"{"minor":-9223372036854775808,"currency":"GBP"}"#,
                "-£92,233,720,368,547,758.08"
            ),
            ("on", #""2024-02-29""#, "Thursday 29 February"),
            ("on", #""2027-01-01""#, "Friday 1 January"),
            ("at", #""2026-11-20T22:30:00Z""#, "Friday 20 November, 22:30 UTC"),
            ("at", #""2026-11-21T00:05:59.9+02:00""#, "Friday 20 November, 22:05 UTC"),
            ("items", #"[]"#, ""), ("items", #"["a"]"#, "a"), ("items", #"["a" , "b"]"#, "a and b"),
            ("items", #"["a, \"b]\"","\\",  "c\nd"]"#, #"a, "b]", \ and c d"#),
        ])
    func form(name: String, json: String, expected: String) throws {
        let templates = try ownTemplates(["en/test.sample.push.txt": "T\n\n-{\(name)}"])
        let words = try templates.render("test.sample", .push, data: sampleData([name: json]))
        #expect(words.text == "-" + expected)
    }

    @Test(
        "a time is the person's own",
        arguments: [
            ("America/Toronto", "2026-11-01T05:30:00Z", "Sunday 1 November, 1:30"),
            ("America/Toronto", "2026-11-01T06:30:00Z", "Sunday 1 November, 1:30"),
            ("Asia/Kolkata", "2026-12-31T20:00:00Z", "Friday 1 January, 1:30"),
            ("UTC", "2026-11-20T22:30:00Z", "Friday 20 November, 22:30 UTC"),
        ])
    func zones(zone: String, time: String, expected: String) throws {
        let templates = try ownTemplates(["en/test.sample.push.txt": "T\n\n{at}"])
        let words = try templates.render(
            "test.sample", .push, data: sampleData(["at": "\"\(time)\""]),
            zone: try ZoneDatabase().zone(named: zone))
        #expect(words.text == expected)
    }

    @Test(
        "a plural goes by its count",
        arguments: [
            ("0", "0 coupons"), ("1", "one coupon"), ("2", "2 coupons"),
            ("1000", "1,000 coupons"),
        ])
    func plural(count: String, expected: String) throws {
        let templates = try ownTemplates([
            "en/test.sample.push.txt": "T\n\n{count|one coupon|# coupons}"
        ])
        let words = try templates.render(
            "test.sample", .push, data: sampleData(["count": count]))
        #expect(words.text == expected)
    }

    private static let listExpectation =
        #"a list of texts, or of amounts such as {"minor":1230,"currency":"CAD","to":"Ann"}"#

    static let mistypedFacts = [
        ("title", "5", "a text"), ("title", "null", "a text"), ("title", #"["a"]"#, "a text"),
        ("count", #""2""#, "a whole number from 0"), ("count", "2.0", "a whole number from 0"),
        ("count", "-1", "a whole number from 0"), ("count", "1e3", "a whole number from 0"),
        ("count", "99999999999999999999", "a whole number from 0"),
        ("away", #""far""#, "metres, a number from 0 to 100000000"),
        ("away", "-0.1", "metres, a number from 0 to 100000000"),
        ("away", "1e400", "metres, a number from 0 to 100000000"),
        ("away", "true", "metres, a number from 0 to 100000000"),
        ("pay", "12.30", #"an amount in minor units, such as {"minor":1230,"currency":"CAD"}"#),
        (
            "pay", #"{"minor":12.3,"currency":"CAD"}"#,
            #"an amount in minor units, such as {"minor":1230,"currency":"CAD"}"#
        ),
        (
            "pay", #"{"minor":12,"currency":"dollars"}"#,
            #"an amount in minor units, such as {"minor":1230,"currency":"CAD"}"#
        ),
        (
            "pay", #"{"minor":12,"currency":"$12"}"#,
            #"an amount in minor units, such as {"minor":1230,"currency":"CAD"}"#
        ),
        (
            "pay", #"{"minor":12}"#,
            #"an amount in minor units, such as {"minor":1230,"currency":"CAD"}"#
        ),
        ("on", #""2026-02-29""#, #"a day, such as "2026-11-20""#),
        ("on", #""2026-13-01""#, #"a day, such as "2026-11-20""#),
        ("on", #""26-1-1""#, #"a day, such as "2026-11-20""#),
        ("on", #""+026-01-01""#, #"a day, such as "2026-11-20""#),
        ("on", #""2026-11-20T00:00:00Z""#, #"a day, such as "2026-11-20""#),
        ("at", #""2026-11-20""#, #"a time, such as "2026-11-20T17:30:00Z""#),
        ("at", #""2026-11-20T17:30:00""#, #"a time, such as "2026-11-20T17:30:00Z""#),
        ("at", #""infinity""#, #"a time, such as "2026-11-20T17:30:00Z""#),
        ("items", #""one""#, listExpectation), ("items", #"["one", 2]"#, listExpectation),
        ("items", #"[["one"]]"#, listExpectation), ("items", "[null]", listExpectation),
        ("items", "{}", listExpectation),
        ("items", #"[{"minor":1,"currency":"CAD"}]"#, listExpectation),
    ]

    @Test("a mistyped fact is named, not shown", arguments: mistypedFacts)
    func mistyped(name: String, json: String, expected: String) throws {
        let templates = try ownTemplates(["en/test.sample.push.txt": "T\n\nx"])
        let error = #expect(throws: NoticeDataError.self) {
            try templates.render("test.sample", .push, data: sampleData([name: json]))
        }
        #expect(error == .mistyped(kind: "test.sample", field: name, expected: expected))
        #expect(
            error?.description
                == "\"\(name)\" in the data of test.sample: expected \(expected)")
    }

    @Test(
        "a missing fact is named",
        arguments: ["title", "count", "away", "pay", "on", "at", "items"])
    func missing(name: String) throws {
        let templates = try ownTemplates(["en/test.sample.push.txt": "T\n\nx"])
        let error = #expect(throws: NoticeDataError.self) {
            try templates.render("test.sample", .push, data: sampleData([name: String?.none]))
        }
        #expect(error == .missing(kind: "test.sample", field: name))
        #expect(error?.description == "the data of test.sample have no \"\(name)\": add it")
    }

    @Test func `more facts than declared do no harm, and of equal names the last counts`() throws {
        let templates = try ownTemplates(["en/test.sample.push.txt": "T\n\n{title}"])
        var data = sampleData(["other": "[1, {}]"])
        #expect(try templates.render("test.sample", .push, data: data).text == "Tea")
        data.removeLast()
        data += Array(#", "title": "Mate"}"#.utf8)
        #expect(try templates.render("test.sample", .push, data: data).text == "Mate")
    }

    @Test func `data that are no JSON object are refused with their place`() throws {
        let templates = try ownTemplates(["en/test.sample.push.txt": "T\n\nx"])
        for (json, reason) in [
            ("", "column 1: expected an object, {…}"), ("[]", "column 1: expected an object, {…}"),
            ("{\"a\":}", "column 6: expected a value"),
        ] {
            #expect(throws: NoticeDataError.malformed(kind: "test.sample", reason: reason)) {
                try templates.render("test.sample", .push, data: Array(json.utf8))
            }
        }
    }

    @Test func `unknown kinds and channels are refused`() throws {
        let templates = try ownTemplates(["en/test.sample.push.txt": "T\n\nx"])
        #expect(throws: NoticeDataError.unknownKind("test.other")) {
            try templates.render("test.other", .push, data: [])
        }
        #expect(throws: NoticeDataError.notTold(kind: "test.sample", channel: .inbox)) {
            try templates.render("test.sample", .inbox, data: sampleData())
        }
    }
}
