import Foundation
import ErrandTestServices
import Testing

@Suite("Pages and their links") struct LinkTests {
    @Test(arguments: Page.all.map(\.path))
    func `every link leads to a file and a heading that exist`(_ path: String) throws {
        let page = try #require(Page.at(path))
        for link in page.links {
            let (target, anchor) = page.target(of: link)
            let file = Checkout.root.appending(path: target)
            #expect(
                FileManager.default.fileExists(atPath: file.path), "\(path): \(link) does not exist"
            )
            guard let anchor, let other = Page.at(target) else { continue }
            #expect(other.anchors.contains(anchor), "\(path): \(link) names no heading")
        }
    }

    @Test func `the README is short, and every page is two clicks away`() throws {
        let readme = try #require(Page.at("README.md"))
        #expect(readme.lineCount <= 150)
        var reached = Set(readme.links.map { readme.target(of: $0).path })
        for path in reached {
            guard let page = Page.at(path) else { continue }
            reached.formUnion(page.links.map { page.target(of: $0).path })
        }
        let docs = Page.all.map(\.path).filter { $0.hasPrefix("docs/") }
        #expect(docs.count > 30)
        #expect(docs.filter { !reached.contains($0) } == [])
    }
}
