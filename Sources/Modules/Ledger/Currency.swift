/// A currency of ISO 4217.
package struct Currency: Sendable, Hashable, CustomStringConvertible {
    /// Three capital letters.
    package let code: String
    /// The number of decimals of the minor unit: 2 for CAD, 0 for JPY.
    package let exponent: Int

    /// Nil if the code is not an active currency; case-sensitive.
    package init?(_ code: String) {
        guard let exponent = Self.exponents[code] else { return nil }
        self.code = code
        self.exponent = exponent
    }

    private init(code: String, exponent: Int) {
        self.code = code
        self.exponent = exponent
    }

    package static let cad = Currency(code: "CAD", exponent: 2)
    package static let usd = Currency(code: "USD", exponent: 2)

    /// Minor units per major unit: 100 for CAD.
    package var minorUnits: Int64 {
        (0..<exponent).reduce(1) { product, _ in product * 10 }
    }

    package var description: String { code }

    /// The exponents by code, the same as in `ledger.currencies`; a test compares them.
    package static let exponents: [String: Int] = {
        var all: [String: Int] = [:]
        for (exponent, codes) in byExponent {
            for code in codes.split(separator: " ") { all[String(code)] = exponent }
        }
        return all
    }()

    /// ISO 4217 as of 2026.
    private static let byExponent: [(Int, String)] = [
        (0, "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF"),
        (
            2,
            """
            AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BTN BWP BYN BZD \
            CAD CDF CHF CNY COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS \
            GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP \
            LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK \
            NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS \
            SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VES WST XCD \
            XCG YER ZAR ZMW ZWG
            """
        ),
        (3, "BHD IQD JOD KWD LYD OMR TND"),
    ]
}
