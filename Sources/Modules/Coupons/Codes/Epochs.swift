/// One of the two series of a coupon's codes.
package enum CodeSeries: String, Sendable, CaseIterable {
    /// QR codes for scanners.
    case qr
    /// Typed codes, which rotate more slowly.
    case typed
}

/// A period whose codes are derived from one secret.
///
/// Times are whole seconds since 1970.
package struct Epoch: Sendable, Equatable {
    package var start: Int64
    /// The slot in a cycle of 32, part of a typed code.
    package var slot: Int16
    /// The end of the validity of its codes, after the next epoch has started.
    package var goodUntil: Int64

    /// The number of slots.
    package static let slots: Int16 = 32

    package init(start: Int64, slot: Int16, goodUntil: Int64) {
        self.start = start
        self.slot = slot
        self.goodUntil = goodUntil
    }
}

/// The changes that rotate the codes of one series: pure arithmetic over its epochs.
package struct RotationPlan: Sendable, Equatable {
    /// The epochs to create, in order, each with a new secret.
    package var made: [Epoch] = []
    /// The last existing epoch, if its validity must be extended because its successor starts
    /// late.
    package var prolonged: Epoch?
    /// The starts of the epochs whose codes have expired.
    package var destroyed: [Int64] = []

    /// Plans the rotation at a time.
    ///
    /// Missed epochs are not created: the next epoch starts now, and the last one is valid until
    /// then.
    ///
    /// - Parameters:
    ///   - epochs: the existing epochs, sorted by start.
    ///   - now: the database's clock, in seconds since 1970.
    ///   - period: the length of a new epoch, in seconds.
    ///   - ahead: the number of epochs to prepare ahead of their start.
    package init(_ epochs: [Epoch], now: Int64, period: Int64, ahead: Int) {
        guard let last = epochs.last else {
            // Align the first epoch to a multiple of the period.
            add(from: now - now % period, 0, now: now, period: period, ahead: ahead)
            return
        }
        guard let present = epochs.last(where: { $0.start <= now }) else {
            // The clock was set back: no code would be valid until the first epoch starts.
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

    /// Appends consecutive epochs until `ahead` of them start after `now`.
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

    /// Plans the replacement of all epochs after a leak; every code shown so far becomes invalid.
    ///
    /// - Parameters:
    ///   - epochs: the existing epochs, sorted by start; all are destroyed.
    ///   - now: the database's clock; the start of the first new epoch.
    package init(replacing epochs: [Epoch], now: Int64, period: Int64, ahead: Int) {
        destroyed = epochs.map(\.start)
        let slot = epochs.last.map { ($0.slot + 1) % Epoch.slots } ?? 0
        // Use a new start: a code of a destroyed epoch must not count as a guess.
        var start = now
        while destroyed.contains(start) { start -= 1 }
        add(from: start, slot, now: now, period: period, ahead: ahead)
    }
}
