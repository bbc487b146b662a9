import Testing

@testable import Errand

@Suite struct QueuePatternTests {
    @Test(arguments: [
        ("tenant-*", "tenant-7", true), ("tenant-*", "tenant-", true),
        ("tenant-*", "tenant", false), ("tenant-*", "my-tenant-7", false), ("*", "default", true),
        ("*-mail", "eu-mail", true), ("*-mail", "eu-mail-2", false), ("a*b*c", "a-b-b-c", true),
        ("a*b*c", "abc", true), ("a*b*c", "ac", false), ("a*a", "a", false), ("a**b", "ab", true),
        ("mail", "mail", true), ("mail", "mail2", false), ("a_c", "abc", false),
        ("a.*", "ab", false),
    ])
    func `a star stands for any characters`(_ pattern: String, _ queue: String, _ fits: Bool) {
        #expect(QueuePattern(pattern).matches(queue) == fits)
    }

    @Test func `a name precedes patterns, and longer patterns precede shorter ones`() {
        let served = ["*", "tenant-*", "tenant-7", "tenant-7*", "tenant-*7"]
        #expect(QueuePattern.serving("tenant-7", served) == "tenant-7")
        #expect(QueuePattern.serving("tenant-77", served) == "tenant-*7", "the first in order")
        #expect(QueuePattern.serving("tenant-8", served) == "tenant-*")
        #expect(QueuePattern.serving("mail", served) == "*")
        #expect(QueuePattern.serving("mail", served.dropFirst()) == nil)
    }
}
