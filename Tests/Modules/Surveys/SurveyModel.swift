import Foundation

/// The rules of surveys in memory: what the database must answer.
struct SurveyModel {
    struct Version: Equatable {
        var title: String
        var days: Int
        var cut: Int64
        var coupon: String?
        var questions: Int
    }

    struct Invitation {
        var id: Int64
        var person: Int64
        var survey: Int64
        var version: Int
        var expires: Int64
        var request: String?
        var answers: String?
    }

    /// The zones of people, from 1.
    let zones: [TimeZone]
    /// The establishment of each survey, and whether its receipts lead to it.
    let places: [Int64: (establishment: Int64, forReceipts: Bool)]
    var versions: [Int64: [Version]] = [:]
    var closed: Set<Int64> = []
    var invitations: [Int64: Invitation] = [:]
    var used: Set<String> = []
    /// The branches of a person's scans on the last day with one.
    var scans: [Int64: (day: Int, branches: [Int64])] = [:]
    var balances: [Int64: Int64] = [:]
    var coupons: [Int64: [String]] = [:]
    var verdicts: [Int64: String] = [:]

    private func calendar(_ person: Int64) -> Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zones[Int(person) - 1]
        return calendar
    }

    /// The number of a day in a person's calendar.
    func day(_ time: Int64, of person: Int64) -> Int {
        let calendar = calendar(person)
        let parts = calendar.dateComponents(
            [.year, .month, .day], from: Date(timeIntervalSince1970: Double(time)))
        var utc = Calendar(identifier: .gregorian)
        utc.timeZone = .gmt
        return Int((utc.date(from: parts)?.timeIntervalSince1970 ?? 0) / 86_400)
    }

    /// The end of the day that is some days after that of a time.
    func end(_ time: Int64, _ days: Int, of person: Int64) -> Int64 {
        let calendar = calendar(person)
        let start = calendar.startOfDay(for: Date(timeIntervalSince1970: Double(time)))
        // From noon, as a midnight may not exist.
        let noon = calendar.date(byAdding: .hour, value: 12, to: start) ?? start
        let later = calendar.date(byAdding: .day, value: days + 1, to: noon) ?? noon
        return Int64(calendar.startOfDay(for: later).timeIntervalSince1970)
    }

    mutating func put(_ survey: Int64, _ version: Version) -> Int {
        if versions[survey]?.last != version { versions[survey, default: []].append(version) }
        closed.remove(survey)
        return versions[survey]?.count ?? 0
    }

    /// Nil: an invitation is to be made, which `invited` adds.
    func scan(
        _ receipt: String, at branch: Int64, of establishment: Int64, bought: Int64,
        by person: Int64, now: Int64
    ) -> String? {
        if bought > now + 600 { return "from_future" }
        guard let survey = survey(of: establishment), let version = versions[survey]?.last else {
            return "closed"
        }
        if end(bought, version.days, of: person) <= now { return "too_old" }
        if used.contains(receipt) { return "used" }
        let today =
            scans[person].flatMap {
                $0.day >= day(now, of: person) ? $0.branches : nil
            } ?? []
        return today.count >= 10 || today.count(where: { $0 == branch }) >= 3 ? "too_many" : nil
    }

    func survey(of establishment: Int64) -> Int64? {
        places.first {
            $0.value == (establishment, true) && versions[$0.key] != nil && !closed.contains($0.key)
        }?.key
    }

    mutating func count(_ receipt: String, at branch: Int64, by person: Int64, now: Int64) {
        used.insert(receipt)
        let today = day(now, of: person)
        if let known = scans[person], known.day >= today {
            scans[person]?.branches.append(branch)
        } else {
            scans[person] = (today, [branch])
        }
    }

    mutating func invited(_ id: Int64, _ person: Int64, to survey: Int64, from time: Int64) {
        guard let all = versions[survey], let version = all.last else { return }
        invitations[id] = Invitation(
            id: id, person: person, survey: survey, version: all.count,
            expires: end(time, version.days, of: person))
    }

    mutating func complete(
        _ id: Int64, by person: Int64, _ answers: String, isComplete: Bool, request: String,
        now: Int64
    ) -> String {
        guard let held = invitations[id], held.person == person else { return "unknown" }
        if let request = held.request.map({ $0 == request }) { return request ? "ok" : "done" }
        if held.expires <= now { return "expired" }
        if !isComplete { return "incomplete" }
        guard let version = versions[held.survey]?[held.version - 1] else { return "unknown" }
        invitations[id]?.request = request
        invitations[id]?.answers = answers
        balances[person, default: 0] += version.cut
        if let coupon = version.coupon { coupons[person, default: []].append(coupon) }
        return "ok"
    }

    /// What a person can answer, as `title days`.
    func listing(_ person: Int64, now: Int64) -> [String] {
        invitations.values
            .filter { $0.person == person && $0.request == nil && $0.expires > now }
            .sorted { ($0.expires, $0.id) < ($1.expires, $1.id) }
            .map { held in
                let left = day(held.expires - 1, of: person) - day(now, of: person)
                let title = versions[held.survey]?[held.version - 1].title ?? ""
                return "\(held.id) \(title) \(left)"
            }
    }
}
