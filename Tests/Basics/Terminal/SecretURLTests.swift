import ErrandTerminal
import Testing

@Suite("URLs without secrets") struct SecretURLTests {
    @Test(arguments: [
        ("postgresql://u:pa@ss/w@db.example:5433/shop?sslmode=require", "db.example:5433/shop"),
        ("postgresql://db.example/shop", "db.example/shop"),
        ("postgresql://errand@/errand?host=/run/pg&port=5433", "/run/pg:5433/errand"),
        ("postgresql:///shop", "localhost/shop"), ("redis://:secret@r:6379/0", "r:6379/0"),
        ("host=db dbname='my shop' password='a host=x b' user=u", "db/my shop"),
        ("host = db port=1 password=it\\'s dbname=d", "db:1/d"), ("", "localhost"),
    ])
    func `a place is host and database`(url: String, place: String) {
        #expect(SecretURL.place(url) == place)
    }

    @Test(
        arguments: [
            ("postgresql://u:p@db/shop?sslmode=verify-full&x=1", "verify-full"),
            ("postgresql://u:p@db/shop?x=sslmode&sslmode=require", "require"),
            ("postgresql://db/sslmode=disable", nil), ("postgresql://db/shop", nil),
            ("host=db sslmode = 'verify-ca' user=u", "verify-ca"), ("host=db", nil), ("", nil),
        ] as [(String, String?)])
    func `a setting is found wherever libpq finds it`(url: String, mode: String?) {
        #expect(SecretURL.setting("sslmode", of: url) == mode)
    }
}
