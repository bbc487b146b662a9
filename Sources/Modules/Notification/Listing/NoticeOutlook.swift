/// What would become of a notice, and by which ways it would go.
package struct NoticeOutlook: Sendable {
    /// One of the kind's channels for one person.
    package struct Way: Sendable, Equatable {
        package var channel: NoticeKind.Channel
        /// Whether it leads to the person.
        package var isOpen: Bool
        /// In words for an operator, without addresses.
        package var because: String
    }

    package var decision: NoticeDecision
    package var ways: [Way]
    /// Whose clocks count: the IANA name of the person's zone.
    package var zone: String
}

extension Policy {
    /// The ways of a kind to a person, each with why it is open or not.
    package func ways(_ kind: NoticeKind, _ person: PersonFacts) -> [NoticeOutlook.Way] {
        let wanted = kind.channels.filter { isWanted(kind, $0, by: person) }
        let open = reaching(kind, wanted, person)
        return kind.channels.map { channel in
            let isOpen = open.contains(channel)
            let because =
                wanted.contains(channel)
                ? Self.words(channel, isOpen: isOpen, kind, person)
                : Self.switchedOff
            return NoticeOutlook.Way(channel: channel, isOpen: isOpen, because: because)
        }
    }

    private static func words(
        _ channel: NoticeKind.Channel, isOpen: Bool, _ kind: NoticeKind, _ person: PersonFacts
    ) -> String {
        switch channel {
        case .push:
            let devices = person.devices(of: kind.app).map { "\($0.id) (\($0.platform))" }
            let list = devices.joined(separator: ", ")
            return isOpen
                ? (devices.count == 1 ? "to device \(list)" : "to the devices \(list)")
                : "no device of the app takes pushes"
        case .email:
            guard person.takesMail else { return "there is no address that takes mail" }
            return isOpen
                ? "to the person's address" : "mail is for those only whom no push reaches"
        case .inbox: return "read in the app"
        }
    }
}
