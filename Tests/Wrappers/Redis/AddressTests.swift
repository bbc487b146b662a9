import Testing

@testable import ErrandRedis

@Suite("Redis addresses") struct AddressTests {
    struct Expected: Sendable {
        var url: String
        var place: RedisAddress.Place
        var user: String?
        var password: String?
        var database = 0

        static func tcp(
            _ url: String, _ host: String, _ port: Int32 = 6379, user: String? = nil,
            password: String? = nil, database: Int = 0
        ) -> Expected {
            Expected(
                url: url, place: .tcp(host: host, port: port), user: user, password: password,
                database: database)
        }

        static func socket(
            _ url: String, _ path: String, user: String? = nil, password: String? = nil,
            database: Int = 0
        ) -> Expected {
            Expected(
                url: url, place: .socket(path: path), user: user, password: password,
                database: database)
        }
    }

    @Test(
        arguments: [
            .tcp("redis://localhost", "localhost"),
            .tcp("redis://localhost/", "localhost"),
            .tcp("REDIS://localhost:7000", "localhost", 7000),
            .tcp("redis://localhost:65535/15", "localhost", 65_535, database: 15),
            .tcp("redis://10.0.0.1:1/0", "10.0.0.1", 1),
            .tcp("redis://[::1]", "::1"),
            .tcp("redis://[::1]:7000/3", "::1", 7000, database: 3),
            .tcp("redis://secret@host", "host", password: "secret"),
            .tcp("redis://:secret@host:7000/2", "host", 7000, password: "secret", database: 2),
            .tcp("redis://app:secret@host", "host", user: "app", password: "secret"),
            .tcp("redis://app:a:b@host", "host", user: "app", password: "a:b"),
            .tcp("redis://:p%40ss%2Fw%3Ard@host", "host", password: "p@ss/w:rd"),
            .tcp("redis://:at@sign@host", "host", password: "at@sign"),
            .tcp("redis://:%C3%A9%25@host", "host", password: "é%"),
            .socket("unix:///run/redis.sock", "/run/redis.sock"),
            .socket("redis+unix:///run/redis.sock", "/run/redis.sock"),
            .socket("redis-socket:///run/redis.sock", "/run/redis.sock"),
            .socket("unix:///run/redis.sock?db=4", "/run/redis.sock", database: 4),
            .socket("unix:///run/redis.sock?database=4", "/run/redis.sock", database: 4),
            .socket("unix://:secret@/run/redis.sock", "/run/redis.sock", password: "secret"),
            .socket(
                "unix://app:secret@/run/redis.sock?db=1", "/run/redis.sock", user: "app",
                password: "secret", database: 1),
            .socket("unix:///run/a%20b%3F.sock", "/run/a b?.sock"),
            .socket("unix:///run/a@b.sock", "/run/a@b.sock"),
        ] as [Expected])
    func `a URL is read`(_ expected: Expected) throws {
        let address = try RedisAddress(url: expected.url)
        #expect(address.place == expected.place)
        #expect(address.user == expected.user)
        #expect(address.password == expected.password)
        #expect(address.database == expected.database)
    }

    @Test(arguments: [
        ("", "no scheme: expected redis://host:6379/0 or unix:///path/to.sock"),
        ("localhost:6379", "no scheme"),
        ("http://localhost", "scheme \"http\": expected redis or unix or redis+sentinel"),
        ("redis+sentinel://host", "names no service"),
        ("redis+sentinel://host/", "names no service"),
        ("redis+sentinel://host,/main", "names no host"),
        ("redis+sentinel://host:x,b/main", "port \"x\": expected 1 to 65535"),
        ("redis+sentinel://host/main/one", "database \"one\": expected a number such as 0"),
        ("redis+sentinel://host/main?db=1", "option \"db\": expected sentinel_user=NAME"),
        ("rediss://localhost", "a TLS tunnel"),
        ("redis://", "names no host"),
        ("redis:///0", "names no host"),
        ("redis://:6379", "names no host"),
        ("redis://secret@", "names no host"),
        ("redis://host:", "port \"\": expected 1 to 65535"),
        ("redis://host:0", "port \"0\": expected 1 to 65535"),
        ("redis://host:65536", "port \"65536\": expected 1 to 65535"),
        ("redis://host:-1", "port \"-1\": expected 1 to 65535"),
        ("redis://host:http", "port \"http\": expected 1 to 65535"),
        ("redis://[::1]:x", "port \"x\": expected 1 to 65535"),
        ("redis://[::1]7000", "expected [address] or [address]:port"),
        ("redis://[::1", "expected [address] or [address]:port"),
        ("redis://host/-1", "database \"-1\": expected a number such as 0"),
        ("redis://host/one", "database \"one\": expected a number such as 0"),
        ("redis://host/0/1", "database \"0/1\": expected a number such as 0"),
        ("redis://:a%2@host", "two hexadecimal digits"),
        ("redis://:a%+1@host", "two hexadecimal digits"),
        ("redis://:a%zz@host", "two hexadecimal digits"),
        ("unix://", "expected unix:///path/to.sock"),
        ("unix://run/redis.sock", "\"run/redis.sock\": expected unix:///path/to.sock"),
        ("unix:///run/redis.sock?db=", "option \"db=\": expected db=NUMBER"),
        ("unix:///run/redis.sock?db=x", "database \"x\": expected a number such as 0"),
        ("unix:///run/redis.sock?tls=1", "option \"tls=1\": expected db=NUMBER"),
        ("unix:///" + String(repeating: "x", count: 107), "107 bytes"),
    ])
    func `a wrong URL is refused with what was expected`(_ url: String, _ text: String) {
        let error = #expect(throws: RedisError.self) { try RedisAddress(url: url) }
        #expect(error?.isUsage == true)
        #expect(error?.isTransient == false)
        #expect(error?.description.contains(text) == true, "\(error?.description ?? "")")
    }

    @Test(arguments: [
        "redis://:hush/tell@host:6379/0", "redis://app:hush/tell@host", "redis://hush/tell@host",
        "redis://:x@hush/tell@host", "unix://:hush/tell@/run/redis.sock",
        "unix://:x@hush/tell@/run/redis.sock", "redis://:hush%tell@host",
        "redis+sentinel://:hush/tell@host/main",
        "redis+sentinel://host/main?sentinel_passwort=hush",
        "redis://:hush@host:port", "http://:hush@host", "rediss://:hush@host", ":hush@host",
    ])
    func `a refusal shows nothing of the password`(_ url: String) {
        let error = #expect(throws: RedisError.self) { try RedisAddress(url: url) }
        let text = error?.description ?? ""
        #expect(!text.contains("hush") && !text.contains("send"), "\(text)")
    }

    @Test func `a service is read with its sentinels and both passwords`() throws {
        let address = try RedisAddress(
            url: "redis+sentinel://app:se%2Fcret@10.0.0.1:7000,[::1],third/main/3"
                + "?sentinel_user=watch&sentinel_password=w%26rd%3D")
        let service = SentinelService(
            name: "main",
            sentinels: [
                Endpoint(host: "10.0.0.1", port: 7000), Endpoint(host: "::1", port: 26_379),
                Endpoint(host: "third", port: 26_379),
            ],
            user: "watch", password: "w&rd=")
        #expect(address.place == .sentinels(service))
        #expect(address.user == "app")
        #expect(address.password == "se/cret")
        #expect(address.database == 3)
        #expect(
            address.description
                == "Redis service main of the sentinels 10.0.0.1:7000, [::1]:26379, third:26379, "
                + "database 3")
    }

    @Test func `the longest path that fits is taken`() throws {
        let path = "/" + String(repeating: "x", count: 106)
        #expect(try RedisAddress(url: "unix://\(path)").place == .socket(path: path))
    }

    @Test(arguments: [
        ("redis://app:secret@host:7000/2", "Redis at host:7000, database 2"),
        ("unix://:secret@/run/redis.sock?db=3", "Redis at /run/redis.sock, database 3"),
    ])
    func `an address is shown without its secrets`(_ url: String, _ text: String) throws {
        #expect(try RedisAddress(url: url).description == text)
    }
}
