import ErrandCommand
import Testing

@Suite("Served queues") struct ServedQueuesTests {
    @Test func `names and patterns`() {
        let queues = ServedQueues(["mail", "tenant-*"])
        #expect(queues.contains("mail") && queues.contains("tenant-7"))
        #expect(!queues.contains("mail2") && !queues.contains("tenant"))
        let none: ServedQueues = []
        #expect(!none.contains("default"))
    }
}
