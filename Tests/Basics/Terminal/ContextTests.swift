import ErrandTerminal
import Testing

@Suite("Contexts") struct ContextTests {
    static let sample = #"""
        {
          "current" : "staging",
          "contexts": {
            "staging": {"database_url": "postgresql://app@db.example/errand"},
            "prod-1": {
              "database_url": "host=db password='a b' user=app",
              "redis_url": "redis://:se\"cret@redis.example",
              "operator": "night watch", "production": true, "read_only": false,
              "color": "never"
            }
          }
        }
        """#

    @Test func `a file says what there is`() throws {
        let file = try ContextFile(Self.sample)
        #expect(file.current == "staging")
        #expect(file.contexts.map(\.name) == ["staging", "prod-1"])
        let context = try #require(file["prod-1"])
        #expect(context.isProduction)
        #expect(context.isReadOnly == false)
        #expect(context.operatorName == "night watch")
        #expect(context.color == .never)
        #expect(context.redisURL == "redis://:se\"cret@redis.example")
        #expect(file["staging"]?.isProduction == false)
        #expect(try ContextFile("{}").contexts == [])
    }

    @Test func `lines may end with CR and LF, and keep doing so`() throws {
        let text = Self.sample.split(separator: "\n", omittingEmptySubsequences: false)
            .joined(separator: "\r\n")
        #expect(try ContextFile(text) == ContextFile(Self.sample))
        let changed = ContextFile.text(text, withCurrent: "prod-1")
        #expect(
            changed == text.replacing("\"current\" : \"staging\"", with: "\"current\" : \"prod-1\"")
        )
        #expect(
            ContextFile.text("{\r\n  \"contexts\": {}\r\n}", withCurrent: "a")
                == "{\r\n  \"current\": \"a\",\r\n  \"contexts\": {}\r\n}")
    }

    @Test(
        "what is not understood is refused with its line",
        arguments: [
            ("", 1, "column 1: expected an object"), ("[]", 1, "column 1: expected an object"),
            ("{\n  \"contexts\": {},\n}", 3, "column 1: expected a name in quotation marks"),
            ("{\"contexts\":\n []}", 2, "column 2: expected an object"),
            ("{\"contexts\": {\"a\": true}}", 1, "column 20: expected an object"),
            ("{\"contexts\": {\"a b\": {}}}", 1, "\"a b\": expected a name of letters"),
            ("{\"contexts\": {\"a\": {},\n\"a\": {}}}", 2, "\"a\" is set twice"),
            ("{\"contexts\": {}, \"contexts\": {}}", 1, "is set twice"),
            (inA("\n\n\"produktion\": true"), 3, "did you mean \"production\"?"),
            (inA("\"production\": \"true\""), 1, "\"production\": expected true or false"),
            (inA("\"production\": 1"), 1, "\"production\": expected true or false"),
            (inA("\"production\": yes"), 1, "expected a value"),
            (inA("\"operator\": true"), 1, "\"operator\": expected a non-empty string"),
            (inA("\"operator\": \"\""), 1, "\"operator\": expected a non-empty string"),
            (inA("\"operator\": \"x"), 1, "a closing quotation mark"),
            (inA("\"operator\": [\"x\"]"), 1, "\"operator\": expected a non-empty string"),
            (inA("\"operator\": \"x\",\n\"operator\": \"y\""), 2, "is set twice"),
            (inA("\"color\": \"blue\""), 1, "auto"),
            (inA("\"current\": \"a\""), 1, "\"current\" is unknown"),
            ("{\"operator\": \"x\"}", 1, "expected current, contexts"),
            ("{\n\"current\": \"b\", \"contexts\": {\"a\": {}}}", 2, "contexts: a"),
            ("{\"current\": \"b\"}", 1, "contexts: none"), ("{} {}", 1, "the end of the text"),
        ])
    func refused(text: String, line: Int, message: String) throws {
        let flaw = #expect(throws: ContextFile.Flaw.self) { try ContextFile(text) }
        #expect(flaw?.line == line)
        #expect(flaw?.message.contains(message) == true, "\(flaw?.message ?? "")")
    }

    private static func inA(_ settings: String) -> String {
        "{\"contexts\": {\"a\": {\(settings)}}}"
    }

    @Test(
        "another current context changes nothing else",
        arguments: [
            ("{\"contexts\": {}}", "{\"current\": \"é\\\"\", \"contexts\": {}}"),
            (" {}", " {\"current\": \"é\\\"\"}"),
            ("{\"current\":\"b\",\"c\":1}", "{\"current\":\"é\\\"\",\"c\":1}"),
            ("{\n\t\"a\": 1\n}\n", "{\n\t\"current\": \"é\\\"\",\n\t\"a\": 1\n}\n"),
        ])
    func used(text: String, expected: String) {
        #expect(ContextFile.text(text, withCurrent: "é\"") == expected)
    }

    @Test(
        "passwords are hidden, and nothing else",
        arguments: [
            ("postgresql://app:se@cret@db/errand?x=1", "postgresql://app:***@db/errand?x=1"),
            ("postgresql://app@db/errand", "postgresql://app@db/errand"),
            (
                "postgres://db/e?user=a&password=geheim&x=1",
                "postgres://db/e?user=a&password=***&x=1"
            ),
            ("host=db password='a \\' b' user=app", "host=db password=*** user=app"),
            ("host=db password = geheim user=app", "host=db password=*** user=app"),
            ("redis://:geheim@r:6379/0", "redis://:***@r:6379/0"),
            ("redis://geheim@r", "redis://***@r"), ("redis://r:6379", "redis://r:6379"),
            ("unix://geheim@/run/r.sock", "unix://***@/run/r.sock"),
        ])
    func hidden(url: String, expected: String) {
        #expect(SecretURL.hidden(url) == expected)
    }
}
