import ErrandDurableFiles
import Foundation
import ErrandPaymentFiles
import ErrandTestServices
import Testing

@Suite("Folders of an issue")
struct IssueFolderTests {
    /// One AFT file and one list of cheques.
    private func issue(into path: String, payments: Int = 7) throws -> IssueFolder {
        var folder = try IssueFolder(path)
        let plan = try AFTCase()
        let draft = try folder.draft("aft-0042.txt")
        var file = try draft.write {
            try AFTFile(
                plan.profile, number: plan.number, created: plan.created, paid: plan.paid, to: &$0)
        }
        for deposit in try canadian(payments) { try draft.write { try file.add(deposit, to: &$0) } }
        let totals = try draft.write { try file.end(to: &$0) }
        try folder.publish(draft, kind: .aft, currency: "CAD", totals: totals, number: 42)

        var register = try ChequeRegister(account: "1234567", form: .issues)
        var bytes: [UInt8] = []
        try register.add(
            number: 1, amount: 500, date: day(2026, 12, 31), payee: "A", to: &bytes)
        try folder.publish(
            bytes, as: "cheques.csv", kind: .chequeRegister, currency: "CAD",
            totals: register.end())
        return folder
    }

    private func contents(_ path: String) throws -> [String: Data] {
        var contents: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: path) {
            contents[name] = try Data(contentsOf: URL(filePath: "\(path)/\(name)"))
        }
        return contents
    }

    @Test func `the manifest says what the files are, and they are that`() async throws {
        try await withFolder { parent in
            let path = parent.appending(path: "2026-Q4").path
            let folder = try issue(into: path)
            #expect(try !contents(path).keys.contains("manifest.json"))
            #expect(try folder.finish(run: "2026-Q4", issued: day(2026, 12, 31)).isNew)
            let contents = try contents(path)
            #expect(contents.keys.sorted() == ["aft-0042.txt", "cheques.csv", "manifest.json"])
            let manifest = try JSONDecoder().decode(
                IssueFolder.Manifest.self, from: try #require(contents["manifest.json"]))
            #expect(manifest.run == "2026-Q4" && manifest.issued == "2026-12-31")
            let (aft, cheques) = (manifest.files[0], manifest.files[1])
            #expect(aft.fileCreationNumber == 42 && cheques.fileCreationNumber == nil)
            #expect(aft.payments == 7 && aft.records == 4 && aft.kind == .aft)
            #expect(aft.amount == (try canadian(7)).reduce(0) { $0 + $1.amount })
            #expect(cheques.payments == 1 && cheques.amount == 500 && cheques.currency == "CAD")
            for entry in manifest.files {
                #expect(entry.bytes == contents[entry.name]?.count)
                let sum = try await output(of: ["sha256sum", "\(path)/\(entry.name)"])
                #expect(sum.hasPrefix(entry.sha256) && entry.sha256.count == 64)
            }
        }
    }

    @Test func `made again it is the same, and another content is refused`() async throws {
        try await withFolder { parent in
            let path = parent.appending(path: "issue").path
            try issue(into: path).finish(run: "r", issued: day(2026, 12, 31))
            let first = try contents(path)
            let again = try issue(into: path)
            #expect(try !again.finish(run: "r", issued: day(2026, 12, 31)).isNew)
            #expect(try contents(path) == first)
            #expect(throws: FileError.otherContent(file: "\(path)/aft-0042.txt")) {
                try issue(into: path, payments: 8)
            }
            #expect(throws: FileError.otherContent(file: "\(path)/manifest.json")) {
                try again.finish(run: "s", issued: day(2026, 12, 31))
            }
            #expect(try contents(path) == first)
        }
    }

    @Test func `a payment that is refused leaves no file behind`() async throws {
        try await withFolder { parent in
            let path = parent.appending(path: "issue").path
            let folder = try IssueFolder(path)
            let plan = try AFTCase()
            var bad = try canadian(1)[0]
            bad.payee = "山"
            func write() throws {
                let draft = try folder.draft("aft.txt")
                var file = try draft.write {
                    try AFTFile(
                        plan.profile, number: 1, created: plan.created, paid: plan.paid, to: &$0)
                }
                for deposit in try canadian(2_000) + [bad] {
                    try draft.write { try file.add(deposit, to: &$0) }
                }
            }
            let error = #expect(throws: PaymentFileError.self) { try write() }
            #expect(error == .badPayment(reference: bad.reference, .noName))
            #expect(try contents(path).isEmpty)
        }
    }
}
