import ErrandPayouts
import Testing

@Suite("What a payout is called in a bank's file")
struct ReferenceTests {
    @Test("is read back, and nothing else is")
    func round() {
        for id in [1, 4_711, Int64.max] {
            let text = PayoutReference.text(of: id)
            #expect(PayoutReference.id(of: text) == id)
        }
        for text in ["", "P", "P0", "P-1", "P+1", "P01", "p1", "1", "P1 ", "Q1"] {
            #expect(PayoutReference.id(of: text) == nil, "\(text)")
        }
    }
}
