import Errand
import Testing

@Suite("A schedule that can never be") struct ScheduleFaultTests {
    private struct Report: Job {
        static let kind = "test.report"
    }

    @Test(
        "is refused where it is made",
        arguments: [
            ("61 3 * * *", "61 is too large"), ("every day", "every day: "), ("", ": "),
            ("0 0 31 2 *", "0 0 31 2 *: "),
        ])
    func recurrence(text: String, message: String) {
        let error = #expect(throws: JobError.self) {
            try Schedule("nightly", text, run: Report())
        }
        let words = error.map { "\($0)" } ?? ""
        #expect(words.contains("schedule nightly: ") && words.contains(message), "\(words)")
    }

    @Test func `names its limits`() {
        func words(_ make: () throws -> Schedule) -> String {
            let error = #expect(throws: JobError.self) { _ = try make() }
            return error.map { "\($0)" } ?? ""
        }
        #expect(
            words { try Schedule("Nightly!", "@daily", run: Report()) }.contains(
                "name: expected up to 100"))
        #expect(
            words { try Schedule("n", "@daily", run: Report(), runLimit: 0) }
                .contains("runLimit 0: expected 1 or more"))
        #expect(
            words { try Schedule("n", "@daily", run: Report(), maxAttempts: 99_999) }
                .contains("expected 1 to 32767"))
        #expect(
            words { try Schedule("n", "@daily", run: Report(), queue: "a b") }
                .contains("queue a b"))
    }
}
