import Foundation
import ErrandPayouts
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("The payout profile of the documentation", .database) struct ProfileSampleTests {
    @Test func `issues a run as it is printed`() async throws {
        let page = try String(
            contentsOf: Checkout.root.appending(path: "docs/money/payouts.md"), encoding: .utf8)
        let section = try #require(
            page.components(separatedBy: "## Payout profile").dropFirst().first)
        let block = try #require(section.components(separatedBy: "```json\n").dropFirst().first)
        let json = try #require(block.components(separatedBy: "```").first)
        let profile = try IssueProfile(json: Array(json.utf8))
        // A person for each part: an account in Canada, one in the United States, none.
        try await PayoutGround.with(people: 3) { ground in
            let issue = try await ground.issuing(profile).issue(
                run: ground.run, in: ground.folder.path, today: PayoutGround.today)
            #expect(issue.publishedAt != nil && issue.held == 0)
            let files = issue.files.map { "\($0.method.rawValue) \($0.currency)" }
            #expect(files.sorted() == ["aft CAD", "cheque CAD", "nacha USD"])
        }
    }
}
