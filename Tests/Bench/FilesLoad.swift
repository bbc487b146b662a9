import ErrandDurableFiles
import FoundationEssentials
import Glibc
import ErrandGregorian
import ErrandPaymentFiles

/// How long the files of many payments take, from payments in memory to files on the disk.
enum FilesLoad {
    private static let day = CivilDate(year: 2026, month: 12, day: 31)
    private static let names = [
        "Élodie Brontë-Œuvray", "Jean-François d’Arcy", "Marie Tremblay", "Łukasz Świątek",
    ]

    /// Prints seconds and the peak of memory.
    ///
    /// Flags: `--payments`, `--cheques`, `--folder`.
    static func measure(_ flags: Flags) throws {
        let count = try flags.int("payments", 1_000_000)
        let cheques = try flags.int("cheques", 500)
        let folder = try flags.text("folder", "/tmp")
        let started = monotonicNow()
        try aft(count, try FileDraft("bench-aft.txt", in: folder))
        let afterAFT = monotonicNow()
        try nacha(count, try FileDraft("bench-nacha.txt", in: folder))
        let afterNACHA = monotonicNow()
        let peak = peakMemory()
        try draw(cheques)
        let ended = monotonicNow()
        report([
            ("aft_seconds", seconds(from: started, to: afterAFT)),
            ("nacha_seconds", seconds(from: afterAFT, to: afterNACHA)),
            ("peak_mib", peak),
            ("cheque_seconds", seconds(from: afterNACHA, to: ended)),
            ("peak_with_cheques_mib", peakMemory()),
        ])
        for name in ["bench-aft.txt", "bench-nacha.txt"] {
            _ = unsafe unlink("\(folder)/\(name)")
        }
    }

    private static func aft(_ count: Int, _ draft: FileDraft) throws {
        let home = try CanadianAccount(institution: "003", transit: "12345", account: "1234567")
        let profile = AFTProfile(
            originatorID: "ORIG000001", dataCentre: "01020", directClearer: "00320",
            shortName: "Errand", longName: "Errand Inc.", returnAccount: home)
        var file = try draft.write {
            try AFTFile(profile, number: 1, created: day, paid: day, to: &$0)
        }
        for place in 0..<count {
            let account = try CanadianAccount(
                institution: "001", transit: "00011", account: String(10_000_000 + place))
            let deposit = Deposit(
                reference: "P\(place)", payee: names[place % names.count],
                amount: Int64(place % 100_000) + 1, account: .canada(account))
            try draft.write { try file.add(deposit, to: &$0) }
        }
        _ = try draft.write { try file.end(to: &$0) }
        _ = try draft.publish()
    }

    private static func nacha(_ count: Int, _ draft: FileDraft) throws {
        let profile = NACHAProfile(
            destination: "021000021", destinationName: "Bank", origin: "1234567890",
            originName: "Errand", companyName: "Errand", companyID: "1234567890",
            odfi: "121000358")
        var file = try draft.write {
            try NACHAFile(profile, modifier: "A", created: day, effective: day, to: &$0)
        }
        for place in 0..<count {
            let account = try AmericanAccount(
                routing: "121000358", account: String(10_000_000 + place), kind: .checking)
            let deposit = Deposit(
                reference: "P\(place)", payee: names[place % names.count],
                amount: Int64(place % 100_000) + 1, account: .unitedStates(account))
            try draft.write { try file.add(deposit, to: &$0) }
        }
        _ = try draft.write { try file.end(to: &$0) }
        _ = try draft.publish()
    }

    private static func draw(_ count: Int) throws {
        let issuer = ChequeIssuer(
            name: "Errand", address: ["1 King Street", "Toronto ON"], bank: "A Bank",
            bankAddress: [], account: "1234567")
        var first = 0
        while first < count {
            let sheets = try ChequeSheets(issuer: issuer, created: day)
            for number in first..<min(first + ChequeSheets.mostCheques, count) {
                let lines = (1...8).map {
                    RemittanceLine(date: day, text: "Survey \($0)", amount: 125)
                }
                try sheets.add(
                    Cheque(
                        number: Int64(number + 1), amount: 1_000, date: day,
                        payee: names[number % names.count], address: ["12 Main St", "Ottawa ON"],
                        memo: "", lines: lines))
            }
            _ = try sheets.finish()
            first += ChequeSheets.mostCheques
        }
    }

    /// The most memory of this process until now, in MiB.
    private static func peakMemory() -> Double {
        var usage = rusage()
        _ = unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return Double(usage.ru_maxrss) / 1_024
    }
}
