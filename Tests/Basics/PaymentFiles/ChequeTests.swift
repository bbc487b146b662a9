import Foundation
import ErrandGregorian
import ErrandPaymentFiles
import ErrandTestServices
import Testing

@Suite("Cheques")
struct ChequeTests {
    private static let issuer = ChequeIssuer(
        name: "Sondages d’été inc.", address: ["1200, avenue McGill", "Montréal QC  H3B 4G7"],
        bank: "Banque du Nord", bankAddress: ["600, rue Ouest"], account: "1234567")

    private func cheque(
        _ number: Int64, _ amount: Int64 = 123_456, payee: String = "Élodie Brontë-Œuvray",
        lines count: Int = 0
    ) -> Cheque {
        var lines = (0..<max(count - 1, 0)).map { place in
            RemittanceLine(date: day(2026, 11, 3), text: "Survey no. \(place)", amount: 125)
        }
        if count > 0 {
            let rest = amount - lines.reduce(0) { $0 + $1.amount }
            lines.append(RemittanceLine(date: day(2026, 12, 1), text: "The rest", amount: rest))
        }
        return Cheque(
            number: number, amount: amount, date: day(2026, 12, 31), payee: payee,
            address: ["123, rue de l’Église", "Québec QC  G1R 2B5"], memo: "Quarter 4 of 2026",
            lines: lines)
    }

    private func sheets(
        _ cheques: [Cheque], issuer: ChequeIssuer = issuer
    ) throws -> ChequeSheets.Printed {
        let sheets = try ChequeSheets(issuer: issuer, created: day(2026, 12, 31))
        for cheque in cheques { try sheets.add(cheque) }
        return try sheets.finish()
    }

    /// A page's text in the order in which it was written, a line each.
    private func pages(of bytes: [UInt8]) async throws -> [[String]] {
        try await withFolder { folder in
            let file = folder.appending(path: "cheques.pdf")
            try Data(bytes).write(to: file)
            let text = try await output(of: ["pdftotext", "-raw", file.path, "-"])
            return text.split(separator: "\u{0C}").map { page in
                page.split(separator: "\n").map(String.init)
            }
        }
    }

    @Test(
        "amount, words and payee are read back from the sheet",
        arguments: [
            (1, "***0.01", "Zero and 01/100"), (100_000_000, "***1,000,000.00", "One million and"),
            (111_111, "***1,111.11", "One thousand one hundred eleven and 11/100"),
            (2_100, "***21.00", "Twenty-one and 00/100"),
            (10_000, "***100.00", "One hundred and 00/100"),
            (Cheque.mostAmount, "***999,999,999.99", "nine hundred ninety-nine and 99/100"),
        ] as [(Int64, String, String)])
    func readBack(amount: Int64, figures: String, words: String) async throws {
        let pages = try await pages(of: sheets([cheque(123, amount)]).sheets)
        let text = try #require(pages.first).joined(separator: " ")
        #expect(pages.count == 1)
        #expect(text.contains(figures) && text.contains(words))
        #expect(text.contains("DOLLARS ***") && !text.contains("US DOLLARS"))
        #expect(text.contains("Élodie Brontë-Œuvray") && text.contains("000123"))
        #expect(text.contains("2 0 2 6 1 2 3 1") && text.contains("Y Y Y Y M M D D"))
        #expect(text.contains("123, rue de l’Église") && text.contains("Quarter 4 of 2026"))
    }

    @Test func `a cheque in US dollars says so`() async throws {
        var issuer = Self.issuer
        issuer.currency = "USD"
        let pages = try await pages(of: sheets([cheque(1)], issuer: issuer).sheets)
        let text = pages.joined().joined(separator: " ")
        #expect(text.contains("56/100 US DOLLARS") && text.contains("USD 1,234.56"))
    }

    @Test(
        "each cheque is one sheet, and lines that do not fit are on plain paper",
        arguments: [0, 1, 15, 16, 17, 69, 70, 200])
    func lines(count: Int) async throws {
        let printed = try sheets([cheque(7, lines: count), cheque(8)])
        let pages = try await pages(of: printed.sheets)
        #expect(pages.count == 2)
        var rows = pages[0].filter { $0.hasPrefix("2026-11-03 Survey") || $0.contains("The rest") }
        if count <= 16 {
            #expect(printed.continuation == nil)
        } else {
            let rest = try await self.pages(of: try #require(printed.continuation))
            #expect(pages[0].contains("\(count - 15) more lines are on the sheet enclosed"))
            #expect(rest.count == (count - 15 + 53) / 54)
            #expect(rest.allSatisfy { $0.joined().contains("Cheque 000007") })
            rows += rest.joined().filter {
                $0.hasPrefix("2026-11-03 Survey") || $0.contains("The rest")
            }
        }
        #expect(rows.count == count)
        #expect(rows.dropLast().enumerated().allSatisfy { $1.contains("no. \($0) 1.25") })
    }

    /// Where words stand, in points from the upper left corner.
    private func words(in bytes: [UInt8]) async throws -> [(word: String, box: [Double])] {
        try await withFolder { folder in
            let file = folder.appending(path: "cheques.pdf")
            try Data(bytes).write(to: file)
            let html = try await output(of: ["pdftotext", "-bbox", file.path, "-"])
            return html.matches(
                of: /<word xMin="(.*?)" yMin="(.*?)" xMax="(.*?)" yMax="(.*?)">(.*?)<\/word>/
            ).map { match in
                let box = [match.1, match.2, match.3, match.4].compactMap { Double($0) }
                return (String(match.5), box)
            }
        }
    }

    @Test(
        "only the address stands where the window is, and nothing in the MICR line's band",
        arguments: [1, 3, 4])
    func window(addressLines: Int) async throws {
        var cheque = cheque(1, Cheque.mostAmount, payee: "Maria van den Oetelaar the Third")
        cheque.address = (1...addressLines).map { "Window\($0) Boulevard Saint-Jean \($0)" }
        cheque.lines = [
            RemittanceLine(date: day(2026, 1, 1), text: "All", amount: Cheque.mostAmount)
        ]
        let words = try await words(in: try sheets([cheque]).sheets)
        #expect(words.count > 40)
        // What the window always shows: 36 to 84 above the lower edge, 63 to 315 from the left.
        let inside = words.filter { word in
            word.box[1] >= 792 - 84 - 1 && word.box[3] <= 792 - 36 + 1 && word.box[0] >= 63
                && word.box[2] <= 315
        }
        // What it may show.
        let near = words.filter { $0.box[3] > 792 - 117 && $0.box[0] < 387 }
        #expect(inside.map(\.word) == near.map(\.word))
        #expect(inside.filter { $0.word.hasPrefix("Window") }.count == addressLines)
        #expect(inside.first?.word == "Maria")
        // 5/8 inch above the cheque's lower edge, which is 3 1/2 inches from the top.
        #expect(!words.contains { $0.box[3] > 252 - 45 && $0.box[1] < 252 })
        // The figures: within the area that readers of cheques scan.
        let figures = try #require(words.first { $0.word.hasPrefix("***9") })
        #expect(figures.box[0] > 612 - 180 && figures.box[2] < 612 - 18)
        #expect(figures.box[1] > 252 - 187.2 && figures.box[3] < 252 - 100.8)
    }

    @Test func `no two words stand upon each other`() async throws {
        var crowded = cheque(
            Cheque.mostNumber, Cheque.mostAmount,
            payee: "Maria-Magdalena van den Oetelaar-Vandenberghe-Featherstonehaugh the Third",
            lines: 16)
        crowded.address = [
            "c/o The Very Long Named Residence for Retired Surveyors of the Province",
            "98765 Boulevard Saint-Jean-Baptiste-de-la-Salle Ouest, appartement 12345",
            "Saint-Louis-du-Ha! Ha! QC  G0L 3S0", "CANADA",
        ]
        crowded.memo = String(repeating: "A long memo ", count: 20)
        var issuer = Self.issuer
        issuer.name = String(repeating: "Long name ", count: 12)
        issuer.bank = String(repeating: "Banque ", count: 20)
        issuer.address = Array(repeating: String(repeating: "Avenue ", count: 30), count: 3)
        let words = try await words(in: try sheets([crowded], issuer: issuer).sheets)
        for (place, one) in words.enumerated() {
            for other in words.dropFirst(place + 1) {
                let width = min(one.box[2], other.box[2]) - max(one.box[0], other.box[0])
                let height = min(one.box[3], other.box[3]) - max(one.box[1], other.box[1])
                // Boxes hold the room for accents above and below.
                #expect(width < 0.5 || height < 3, "\(one) is on \(other)")
            }
            #expect(one.box[0] >= 0 && one.box[2] <= 612)
        }
    }

    @Test func `the same cheques give the same bytes`() throws {
        let cheques = (1...20).map { cheque($0, lines: 20) }
        let first = try sheets(cheques)
        let second = try sheets(cheques)
        #expect(first.sheets == second.sheets && first.continuation == second.continuation)
        #expect(first.totals == second.totals && first.totals.payments == 20)
        #expect(first.totals.amount == 20 * 123_456)
    }

    @Test func `cheques that nobody could cash are refused`() throws {
        let cases: [(PaymentFileError.Problem?, (inout Cheque) -> Void)] = [
            (.amount(0, most: Cheque.mostAmount), { $0.amount = 0 }),
            (
                .amount(Cheque.mostAmount + 1, most: Cheque.mostAmount),
                { $0.amount = Cheque.mostAmount + 1 }
            ),
            (.noName, { $0.payee = " " }), (.addressLines(0, most: 4), { $0.address = [] }),
            (.addressLines(5, most: 4), { $0.address = Array(repeating: "a", count: 5) }),
            (
                .linesDiffer(total: 1, amount: 123_456),
                { $0.lines = [RemittanceLine(date: day(2026, 1, 1), text: "a", amount: 1)] }
            ),
            (nil, { $0.date = day(2026, 2, 29) }), (nil, { $0.number = 1_000_000_000 }),
            (.notAscending(after: 5), { $0.number = 5 }),
            (.notAscending(after: 5), { $0.number = 4 }),
        ]
        for (problem, spoil) in cases {
            let sheets = try ChequeSheets(issuer: Self.issuer, created: day(2026, 12, 31))
            try sheets.add(cheque(5))
            var bad = cheque(6)
            spoil(&bad)
            let error = #expect(throws: PaymentFileError.self) { try sheets.add(bad) }
            if let problem {
                #expect(error == .badPayment(reference: "cheque \(bad.number)", problem))
            }
            #expect(try sheets.finish().totals.payments == 1)
        }
        #expect(throws: PaymentFileError.empty) { try self.sheets([]) }
    }

    @Test func `a file holds 500 cheques and no more`() async throws {
        let sheets = try ChequeSheets(issuer: Self.issuer, created: day(2026, 12, 31))
        for number in 1...500 { try sheets.add(cheque(Int64(number))) }
        #expect(throws: PaymentFileError.full(limit: "500 cheques")) {
            try sheets.add(cheque(501))
        }
        #expect(try await pages(of: sheets.finish().sheets).count == 500)
    }
}

@Suite("Cheque registers")
struct ChequeRegisterTests {
    private let date = day(2026, 12, 31)

    @Test func `issues are quoted values in the order of their numbers`() throws {
        var register = try ChequeRegister(account: "000001234567", form: .issues)
        var bytes: [UInt8] = []
        try register.add(
            number: 7, amount: 123_456, date: date, payee: "Élodie, \"Œuvray\" & fils", to: &bytes)
        try register.add(
            number: 999_999_999, amount: Cheque.mostAmount, date: date,
            payee: "=Ana B. " + String(repeating: "x", count: 40), to: &bytes)
        #expect(
            text(bytes) == """
                "000001234567","7","1234.56","20261231","ELODIE OEUVRAY & FILS"\r
                "000001234567","999999999","999999999.99","20261231",\
                "ANA B. XXXXXXXXXXXXXXXXXXXXXXX"\r

                """)
        #expect(register.end().payments == 2)
        #expect(register.end().amount == 123_456 + Cheque.mostAmount)
    }

    @Test func `a list with actions has voids, also of its own cheques`() throws {
        var register = try ChequeRegister(account: "1234567", form: .actions)
        var bytes: [UInt8] = []
        try register.add(
            number: 3, amount: 100, date: date, payee: "A", action: .void, to: &bytes)
        try register.add(number: 7, amount: 500, date: date, payee: "B", to: &bytes)
        try register.add(
            number: 7, amount: 500, date: date, payee: "B", action: .void, to: &bytes)
        #expect(
            text(bytes) == """
                "1234567","3","1.00","20261231","A","V"\r
                "1234567","7","5.00","20261231","B","I"\r
                "1234567","7","5.00","20261231","B","V"\r

                """)
        #expect(register.end().amount == 500)
    }

    @Test func `numbers that come twice, and what cannot be listed, are refused`() throws {
        var register = try ChequeRegister(account: "1234567", form: .issues)
        var bytes: [UInt8] = []
        try register.add(number: 7, amount: 500, date: date, payee: "B", to: &bytes)
        let before = bytes
        for number in [7, 6, 0, 1_000_000_000] as [Int64] {
            #expect(throws: PaymentFileError.self) {
                try register.add(number: number, amount: 1, date: date, payee: "C", to: &bytes)
            }
        }
        #expect(throws: PaymentFileError.self) {
            try register.add(number: 8, amount: 0, date: date, payee: "C", to: &bytes)
        }
        #expect(throws: PaymentFileError.self) {
            try register.add(number: 8, amount: 1, date: date, payee: "=,+", to: &bytes)
        }
        #expect(throws: PaymentFileError.self) {
            try register.add(
                number: 8, amount: 1, date: date, payee: "C", action: .void, to: &bytes)
        }
        #expect(bytes == before)
        #expect(throws: PaymentFileError.self) {
            try ChequeRegister(account: "1234567890123", form: .issues)
        }
    }
}
