/// The decision that the policy would make about a notice, with each channel.
package struct NoticeOutlook: Sendable {
    /// One of the kind's channels for one person.
    package struct Way: Sendable, Equatable {
        package var channel: NoticeKind.Channel
        /// Whether it reaches the person.
        package var isOpen: Bool
        /// The reason, for operators, without addresses.
        package var because: String
    }

    package var decision: NoticeDecision
    package var ways: [Way]
    /// The IANA name of the person's time zone.
    package var zone: String
}

extension Policy {
    /// Returns the channels of a kind for a person, each with the reason why it is open or not.
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
                ? "to the person's address" : "mail goes only to people without a device for pushes"
        case .inbox: return "read in the app"
        }
    }
}
