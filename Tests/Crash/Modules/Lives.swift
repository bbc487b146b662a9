import ErrandTestServices

/// What people do, at random but the same for a seed.
struct Lives {
    struct Action {
        var name: String
        var sql: String
    }

    private var random: SplitMix
    private let people: Int
    private(set) var erased: [Int64] = []
    private(set) var count = 0
    private var results: [String: Int] = [:]
    private var number = 0

    init(seed: UInt64, people: Int) {
        random = SplitMix(seed: seed)
        self.people = people
    }

    /// The kinds of actions of which none succeeded.
    var failed: [String] { results.filter { $0.value == 0 }.keys.sorted() }

    mutating func note(_ action: Action, _ succeeded: Bool) {
        count += 1
        results[action.name, default: 0] += succeeded ? 1 : 0
    }

    /// Chooses people who are erased from now on.
    mutating func erase(_ count: Int) -> [Int64] {
        var chosen: [Int64] = []
        while chosen.count < count {
            let person = Int64.random(in: 1...Int64(people), using: &random)
            if !erased.contains(person) {
                erased.append(person)
                chosen.append(person)
            }
        }
        return chosen
    }

    mutating func actions(_ count: Int) -> [Action] { (0..<count).map { _ in action() } }

    private mutating func action() -> Action {
        number += 1
        let person = Int.random(in: 1...people, using: &random)
        let other = Int.random(in: 1...people, using: &random)
        let all = Self.actions(person: person, other: other, number: number)
        let names = all.keys.sorted()
        let name = names[Int.random(in: 0..<names.count, using: &random)]
        // Nobody enters the address of an erased person, but for the person, and no app enqueues
        // jobs for somebody who is blocked: what it enqueues after the pass over the jobs stays.
        if ["audit", "code", "job"].contains(name), erased.contains(Int64(person)) {
            return action()
        }
        return Action(name: name, sql: all[name] ?? "")
    }

    static func setup(people: Int) -> String {
        """
        SELECT count(people.put_person(n, jsonb_build_object('email',
            'qx' || n || 'z@lives.example', 'time_zone', 'America/Toronto',
            'birth_date', '1990-05-17', 'age_verified_at', '2026-01-05T10:00:00Z',
            'location_consent_at', '2026-01-05T10:00:00Z')))
        FROM generate_series(1, \(people)) AS n;
        INSERT INTO establishments.establishments (id, name) VALUES (7, 'Shop');
        INSERT INTO establishments.branches (id, establishment_id, name, place)
        VALUES (3, 7, 'Branch', st_setsrid(st_makepoint(-73.56, 45.5), 4326)::geography);
        UPDATE votes.rules SET keys_ahead = 20;
        SELECT count(household.create_group(n, 'Home ' || n, 'America/Toronto'))
        FROM generate_series(1, \(people), 4) AS n;
        SELECT count(household.accept(n, household.invite(n / 4 * 4 + 1, n)))
        FROM generate_series(1, \(people)) AS n WHERE n % 4 <> 1 AND n / 4 * 4 + 1 < n;
        SELECT errand.enqueue('votes.keys');
        \(surveySetup)
        """
    }

    private static func actions(person: Int, other: Int, number: Int) -> [String: String] {
        let mark = "qx\(person)z"
        return people(person, mark, number)
            .merging(home(person, mark, number)) { $1 }
            .merging(votes(person, other, mark, number)) { $1 }
            .merging(money(person, mark, number)) { $1 }
            .merging(missions(person, mark)) { $1 }
            .merging(answers(person, other, mark, number)) { $1 }
            .merging(words(person, other, mark, number)) { $1 }
    }

    private static func people(_ person: Int, _ mark: String, _ number: Int) -> [String: String] {
        [
            "consent": "SELECT people.record_consent(\(person), 'terms', 'v\(number)')",
            "facts": """
            SELECT people.put_person(\(person), '{"notice_time": "18:30"}')
            """,
            "export": "SELECT people.export_data(\(person), 'e\(number)')",
            "device": """
            SELECT notification.register_device(\(person), 'household', 'fcm', '\(mark)-\(number)')
            """,
            "notice": """
            SELECT notification.intend('company.news', \(person), 'news:\(number)',
                '{"headline": "Dear \(mark)", "summary": "\(mark)", "body": "To \(mark)"}',
                'n\(number)', now() + interval '1 day')
            """,
            "code": """
            SELECT accounts.issue_code('\(mark)@lives.example', 'sign_in', 'household',
                'c\(number)')
            """,
            "invitation": """
            SELECT accounts.invite(\(person), 'Name \(mark)', 'guest\(number)@lives.invalid',
                'household', 'i\(number)')
            """,
            "job": """
            SELECT errand.enqueue_own('app.job',
                '{"person_id": \(person), "name": "\(mark)", "mail": "\(mark)@lives.example"}')
            """,
            "audit": """
            INSERT INTO errand.audit (operator, action, subject, reason)
            VALUES ('ann', 'person show', 'person \(person)', 'asked by \(mark)@lives.example')
            """,
        ]
    }

    private static func home(_ person: Int, _ mark: String, _ number: Int) -> [String: String] {
        [
            "name": "SELECT household.set_name(\(person), 'Name \(mark)')",
            "note":
                "SELECT household.add_note(\(person), 'I am \(mark)', picture => '\(mark).jpg')",
            "item": """
            SELECT household.add_item(\(person), 'Tea \(number)', false, note => 'for \(mark)')
            """,
            "bill": """
            SELECT household.add_bill(\(person), 'Bill \(number)', 900, ARRAY(
                SELECT m.person_id FROM household.members m
                JOIN household.members n USING (group_id)
                WHERE n.person_id = \(person) AND n.left_at IS NULL AND m.left_at IS NULL),
                'b\(number)', current_date)
            """,
            "session": """
            SELECT household.report_failed_session(\(person), 's-\(mark)-\(number)')
            """,
            "leave": number % 9 == 0 ? "SELECT household.leave(\(person))" : "SELECT 1",
        ]
    }

    private static func votes(
        _ person: Int, _ other: Int, _ mark: String, _ number: Int
    ) -> [String: String] {
        let vote = "(SELECT max(id) - \(number) % 5 FROM votes.votes)"
        return [
            "open": """
            SELECT votes.open('Vote \(number)', '{Ann,Bob}', \(person),
                now() + interval '\(3 + number % 40) s', initiator_name => 'Name \(mark)')
            """,
            "join": "SELECT votes.join(\(vote), \(person), 'Name \(mark)', 'Street \(mark)')",
            "cast": """
            SELECT votes.cast(p.vote_id, p.person_id, '{1}') FROM votes.participants p
            WHERE p.person_id = \(person) AND NOT p.has_cast ORDER BY p.vote_id DESC LIMIT 1
            """,
        ]
    }

    private static func money(_ person: Int, _ mark: String, _ number: Int) -> [String: String] {
        [
            "reward": "SELECT ledger.credit_reward(\(person), 'survey:\(number)', 7, 500, 300)",
            "payee": """
            SELECT payouts.set_payee(\(person), 'Name \(mark)',
                '{Street \(mark),Montreal QC,H2X 1Y4,CA}')
            """,
            "bank": """
            SELECT payouts.set_bank_details(\(person), 'CA',
                '\\x01' || convert_to('\(mark) sealed details of the person', 'UTF8'), '…1234')
            """,
            "coupon": """
            SELECT coupons.grant_coupon(\(person), 7, 'Coffee', now() + interval '9 days',
                'o:\(number)')
            """,
            "star": """
            SELECT coupons.star(id, person_id) FROM coupons.coupons WHERE person_id = \(person)
            """,
            "position": """
            SELECT coupons.report_position(\(person), -73.56, 45.5, 10, now())
            """,
        ]
    }

    private static func missions(_ person: Int, _ mark: String) -> [String: String] {
        let theirs = "FROM missions.assignments WHERE person_id = \(person)"
        return [
            "hire": "SELECT missions.hire(\(person), 'test')",
            "shopper": "SELECT missions.set_shopper(\(person), -73.56, 45.5, 20000, 2)",
            "mission": """
            SELECT missions.open_mission(3, 'Mission', now() - interval '1 hour',
                now() + interval '1 day', 2500, 1500, '[{"kind": "report", "title": "How it was"}]',
                'UTC')
            """,
            "accept": """
            SELECT missions.accept(person_id, id) \(theirs) AND state = 'offered'
            """,
            "report": """
            SELECT missions.arrive(person_id, id, -73.56, 45.5, 10) \(theirs)
                AND state = 'accepted';
            """,
            "finish": """
            SELECT missions.finish_step(person_id, id, 1, '{"text": "by \(mark)"}'),
                missions.submit(person_id, id, 'r') \(theirs) AND state = 'arrived'
            """,
            "flag": "SELECT missions.raise_flag(\(person), 'said by \(mark)')",
        ]
    }
}
