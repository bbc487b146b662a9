import ErrandTerminal
import Testing

@Suite("Contexts") struct ContextTests {
    static let sample = """
        # of this machine
        current = "staging"   # for now

        [staging]
        database_url = "postgresql://app@db.example/errand"
        [prod-1]
          database_url = "host=db password='a b' user=app" # and more
          redis_url="redis://:se\\"cret@redis.example"
          operator = "night watch"
          production = true
          read_only = false
          color = "never"
        """

    @Test func `a file says what there is`() throws {
        let book = try ContextBook(Self.sample)
        #expect(book.current == "staging")
        #expect(book.contexts.map(\.name) == ["staging", "prod-1"])
        let context = try #require(book["prod-1"])
        #expect(context.isProduction)
        #expect(context.isReadOnly == false)
        #expect(context.operatorName == "night watch")
        #expect(context.color == .never)
        #expect(context.redisURL == "redis://:se\"cret@redis.example")
        #expect(book["staging"]?.isProduction == false)
        #expect(try ContextBook("").contexts == [])
    }

    @Test func `lines may end with CR and LF, and keep doing so`() throws {
        let text = Self.sample.split(separator: "\n", omittingEmptySubsequences: false)
            .joined(separator: "\r\n")
        #expect(try ContextBook(text) == ContextBook(Self.sample))
        let changed = ContextBook.text(text, withCurrent: "prod-1")
        #expect(try ContextBook(changed).current == "prod-1")
        #expect(changed.count == text.count - "\"staging\"   # for now".count + "\"prod-1\"".count)
        #expect(ContextBook.text("[a]\r\n", withCurrent: "a") == "current = \"a\"\r\n[a]\r\n")
    }

    @Test(
        "what is not understood is refused with its line",
        arguments: [
            ("[a", 1, "expected [name]"), ("[a b]", 1, "expected [name]"),
            ("[\"a\"]", 1, "expected [name]"), ("[a]\n[a]", 2, "second time"),
            ("[a]\n\nproduktion = true", 3, "did you mean production?"),
            ("[a]\nproduction = yes", 2, "expected production = \"text\", true or false"),
            ("[a]\nproduction = \"true\"", 2, "expected production = true"),
            ("[a]\nread_only = truely", 2, "expected the end of the line"),
            ("[a]\noperator = true", 2, "expected operator = \"text\""),
            ("[a]\noperator = \"x", 2, "quotation mark"),
            ("[a]\noperator = \"x\\n\"", 2, "after the backslash"),
            ("[a]\noperator = \"x\" y", 2, "expected the end of the line"),
            ("[a]\noperator = 'x'", 2, "expected operator = \"text\""),
            ("[a]\noperator = [\"x\"]", 2, "expected operator = \"text\""),
            ("[a]\noperator = \"x\"\noperator = \"y\"", 3, "second time"),
            ("[a]\ncolor = \"blue\"", 2, "auto"), ("[a]\ncurrent = \"a\"", 2, "above"),
            ("operator = \"x\"", 1, "expected current"), ("\ncurrent = \"b\"\n[a]", 2, "names no"),
            ("[a]\nwords", 2, "expected [name], key"), ("= 3", 1, "expected [name], key"),
        ])
    func refused(text: String, line: Int, message: String) throws {
        let flaw = #expect(throws: ContextBook.Flaw.self) { try ContextBook(text) }
        #expect(flaw?.line == line)
        #expect(flaw?.message.contains(message) == true, "\(flaw?.message ?? "")")
    }

    @Test func `another current context changes one line only`() throws {
        let changed = ContextBook.text(Self.sample, withCurrent: "prod-1")
        #expect(try ContextBook(changed).current == "prod-1")
        #expect(
            changed.split(separator: "\n").dropFirst(2)
                == Self.sample.split(separator: "\n").dropFirst(2))
        #expect(ContextBook.text("[a]\n", withCurrent: "a") == "current = \"a\"\n[a]\n")
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
