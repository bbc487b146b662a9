/// A heap of nodes by their distance, the least first; of equal distances the least node.
struct DistanceHeap {
    private struct Entry {
        var distance: Int64
        var node: Int32

        func isBefore(_ other: Entry) -> Bool {
            distance == other.distance ? node < other.node : distance < other.distance
        }
    }

    private var entries: [Entry] = []

    mutating func removeAll() { entries.removeAll(keepingCapacity: true) }

    mutating func insert(_ node: Int32, at distance: Int64) {
        let entry = Entry(distance: distance, node: node)
        var place = entries.count
        entries.append(entry)
        while place > 0 {
            let parent = (place - 1) / 2
            guard entry.isBefore(entries[parent]) else { break }
            entries[place] = entries[parent]
            place = parent
        }
        entries[place] = entry
    }

    mutating func popFirst() -> (distance: Int64, node: Int32)? {
        guard let last = entries.popLast() else { return nil }
        guard let first = entries.first else { return (last.distance, last.node) }
        var place = 0
        while true {
            var child = 2 * place + 1
            guard child < entries.count else { break }
            if child + 1 < entries.count, entries[child + 1].isBefore(entries[child]) {
                child += 1
            }
            guard entries[child].isBefore(last) else { break }
            entries[place] = entries[child]
            place = child
        }
        entries[place] = last
        return (first.distance, first.node)
    }
}
