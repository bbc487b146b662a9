import Errand

/// Kinds that a worker only declares, to measure what declared kinds cost.
enum NumberedKinds {
    /// Registers kinds until there are `count`.
    static func add(to kinds: inout JobKinds, upTo count: Int) {
        add(First.self, to: &kinds, upTo: count)
    }

    private static func add<Kind: Numbered>(
        _ type: Kind.Type, to kinds: inout JobKinds, upTo count: Int
    ) {
        guard kinds.names.count < count else { return }
        kinds.handle(type) { _, _ in }
        add(Next<Kind>.self, to: &kinds, upTo: count)
    }

    private protocol Numbered: Job {
        static var number: Int { get }
    }

    private struct First: Numbered {
        static let kind = "bench.numbered-1"
        static var number: Int { 1 }
    }

    /// A kind is a type, so each further kind is one nesting more.
    private struct Next<Previous: Numbered>: Numbered {
        static var kind: String { "bench.numbered-\(number)" }
        static var number: Int { Previous.number + 1 }
    }
}
