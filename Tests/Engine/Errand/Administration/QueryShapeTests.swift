@testable import Errand
@testable import ErrandAdministration
import ErrandAdministration
import Testing

@Suite("What is shown of other sessions' statements") struct QueryShapeTests {
    @Test(arguments: [
        ("SELECT  *\n FROM t WHERE a = 'x' AND b=12.5", "SELECT * FROM t WHERE a = '…' AND b=…"),
        ("SELECT 'it''s me', t1.a2", "SELECT '…', t1.a2"),
        (#"SELECT E'it\'s', 'a\', 'b'"#, "SELECT E'…', '…', '…'"),
        (#"SELECT "o'x", 'y'"#, #"SELECT "o'x", '…'"#),
        ("SELECT $1, $2 + $x$ 'q' $y$ $x$, $$a$$", "SELECT $1, $2 + '…', '…'"),
        ("-- don't\nSELECT /* it's /* so */ */ 'z'", " SELECT '…'"),
        // The server cuts what is long.
        ("SELECT 'secret and no en", "SELECT '…'"), ("SELECT $t$ secret", "SELECT '…'"),
        ("SELECT /* secret", "SELECT "), ("<insufficient privilege>", "<insufficient privilege>"),
    ])
    func `values are blanked`(statement: String, shape: String) {
        #expect(QueryShape.of(statement) == shape)
    }

    @Test func `it is cut`() {
        #expect(QueryShape.of(String(repeating: "ab ", count: 1000)).count == 60)
    }
}
