package import Errand

/// The jobs of inquiries.
package enum InquiryKinds {
    /// Adds the kinds to those of a program, with their schedule.
    package static func add(to kinds: inout JobKinds) {
        kinds.handle(SweepInquiries.self) { _, context in try await SweepInquiries.run(context) }
        do {
            kinds.schedule(try SweepInquiries.schedule())
        } catch { preconditionFailure("\(error)") }
    }
}
