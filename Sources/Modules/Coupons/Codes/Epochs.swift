/// One of the two ways in which a coupon's code is given.
package enum CodeSeries: String, Sendable, CaseIterable {
    /// Drawn for a scanner.
    case qr
    /// To be typed; it turns more slowly.
    case typed
}

/// A stretch of time whose codes are made with one secret.
///
/// Times are whole seconds since 1970.
package struct Epoch: Sendable, Equatable {
    package var start: Int64
    /// Its place in a cycle of 32: part of a typed code.
    package var slot: Int16
    /// Its codes are taken until then, though the next epoch has started.
    package var goodUntil: Int64

    /// How many slots there are.
    package static let slots: Int16 = 32

    package init(start: Int64, slot: Int16, goodUntil: Int64) {
        self.start = start
        self.slot = slot
        self.goodUntil = goodUntil
    }
}

/// What has to be done so that the codes of one series turn: pure arithmetic over its epochs.
package struct RotationPlan: Sendable, Equatable {
    /// To be made, in order; each with a new secret.
    package var made: [Epoch] = []
    /// The last epoch that was there, if its codes are to be taken longer than was thought: its
    /// successor comes late.
    package var prolonged: Epoch?
    /// The starts of those whose codes are good no more.
    package var destroyed: [Int64] = []

    /// Plans for a moment.
    ///
    /// Epochs that were missed are not made up for: the next one starts now, and until then the
    /// last one was good.
    ///
    /// - Parameters:
    ///   - epochs: those that there are, by their starts.
    ///   - now: the database's clock, in seconds since 1970.
    ///   - period: how long a new epoch lasts, in seconds.
    ///   - ahead: how many have to be there that have not started yet.
    package init(_ epochs: [Epoch], now: Int64, period: Int64, ahead: Int) {
        guard let last = epochs.last else {
            // On the clock's own steps.
            add(from: now - now % period, 0, now: now, period: period, ahead: ahead)
            return
        }
        guard let present = epochs.last(where: { $0.start <= now }) else {
            // The clock was set back: until the first of them starts no code would be good.
            self = RotationPlan(replacing: epochs, now: now, period: period, ahead: ahead)
            return
        }
        destroyed = epochs.filter { $0.goodUntil <= now && $0 != present }.map(\.start)
        let waiting = epochs.count { $0.start > now }
        guard waiting < ahead else { return }
        let next = max(last.start + period, now)
        if last.goodUntil < next + period {
            prolonged = last
            prolonged?.goodUntil = next + period
        }
        let slot = (last.slot + 1) % Epoch.slots
        add(from: next, slot, now: now, period: period, ahead: ahead - waiting)
    }

    /// Makes epochs one after the other until so many of them have yet to start.
    private mutating func add(
        from first: Int64, _ slot: Int16, now: Int64, period: Int64, ahead: Int
    ) {
        var (start, slot, waiting) = (first, slot, 0)
        while waiting < ahead {
            made.append(Epoch(start: start, slot: slot, goodUntil: start + 2 * period))
            if start > now { waiting += 1 }
            start += period
            slot = (slot + 1) % Epoch.slots
        }
    }

    /// Plans anew after a leak: no code that was ever shown is good any more.
    ///
    /// - Parameters:
    ///   - epochs: those that there are, by their starts; they all go.
    ///   - now: the database's clock; the first new epoch starts then.
    package init(replacing epochs: [Epoch], now: Int64, period: Int64, ahead: Int) {
        destroyed = epochs.map(\.start)
        let slot = epochs.last.map { ($0.slot + 1) % Epoch.slots } ?? 0
        // A code of before must not look like a wrong one of now.
        var start = now
        while destroyed.contains(start) { start -= 1 }
        add(from: start, slot, now: now, period: period, ahead: ahead)
    }
}
