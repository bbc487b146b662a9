import ErrandPostgres
import ErrandTestServices
import Foundation
import Testing

/// The running test's database with something of each module that has the id 1: a vote in review,
/// a run that is being closed, notices with deliveries, and what else arguments of jobs can name.
struct ExtremeGround {
    /// Of workers with all channels and keys.
    let environment: [String: String]
    private let keys: KeyRing

    /// Makes it, and removes the file of keys afterwards.
    static func with(_ body: (ExtremeGround) async throws -> Void) async throws {
        let ground = try await ExtremeGround()
        defer { ground.keys.remove() }
        try await body(ground)
    }

    private init() async throws {
        keys = try KeyRing([KeyRing.line("mine", 7)])
        // Only a worker with channels runs the jobs of push and mail.
        environment = Channels.all(try await PushCredentials.shared)
            .merging(keys.environment) { $1 }
        try await change(Self.seeds)
        try await drain("votes,household:4,missions,notices")
        try await change(Self.later)
        try await errand("payout", "close", "2026-Q3", "--yes", environment: environment).expect(0)
        try await drain("household:4,missions,notices")
        for (thing, row) in Self.things {
            #expect(try await number("SELECT count(*) FROM \(row)") == 1, "\(thing)")
        }
    }

    func drain(_ queues: String) async throws {
        try await errand(
            "work", "--drain", "--no-schedules", "--queues", queues, environment: environment
        ).expect(0)
    }

    private static let seeds = """
        UPDATE votes.rules SET keys_ahead = 3;
        INSERT INTO people.people (id, email, birth_date, age_verified_at, location_consent_at,
            quiet_from, quiet_until)
        SELECT n, 'p' || n || '@example.com', '1990-01-01', now(), now(), NULL, NULL
        FROM generate_series(1, 9) AS n;
        INSERT INTO establishments.establishments (name) VALUES ('Shop');
        INSERT INTO establishments.branches (establishment_id, name, place)
        VALUES (1, 'Main', st_point(-73, 45)::geography);
        SELECT coupons.grant_coupon(1, 1, 'x', now() + interval '1 day', 'survey:1');
        SELECT household.create_group(1, 'Flat', 'UTC');
        SELECT household.invite(1, 2), household.accept(2, 1);
        SELECT household.add_chore(1, 'Bins', (now() AT TIME ZONE 'UTC')::date, 'FREQ=DAILY');
        SELECT household.add_bill(1, 'Power', 9000, ARRAY[1, 2]::bigint[], 'r1', current_date);
        SELECT household.paid(2, 1, 2, 1, 100, 'p1');
        SELECT household.add_note(1, 'The heating is off.');
        SELECT missions.record_review(1, 'survey:' || n, true) FROM generate_series(1, 20) AS n;
        SELECT missions.hire(1, 'test');
        SELECT missions.set_shopper(1, -73, 45, 8000, 2);
        SELECT missions.open_mission(1, 'Ask', now(), now() + interval '3 days', 2500, 1500,
            '[{"kind":"photos","title":"The shelf"}]', 'UTC', is_urgent => true);
        SELECT notification.register_device(1, 'survey', 'fcm', 'token-1');
        SELECT notification.intend('mission.missed', 1, 'mission:1',
            '{"title": "Shop", "branch": "Old Port", "ended_at": "2026-11-20T17:30:00Z"}',
            'mission:1', now() + interval '1 day');
        SELECT payouts.set_payee(1, 'Zoë Roy', ARRAY['12, rue Rachel', 'Montréal']);
        SELECT ledger.credit_reward(1, 'survey:1', NULL, 4100, 4100, at => '2026-08-01Z');
        SELECT errand.enqueue('votes.keys')
        """

    /// What needs keys, and what counts on planned days.
    private static let later = """
        SELECT votes.open('Who leads?', '{Ann,Bob}', 1, now() + interval '1 hour');
        SELECT votes.join(1, 2, 'Zoë Roy', 'Door 1');
        SELECT votes.join(1, 3, 'ZOE  ROY', 'Door 2');
        SELECT votes.cast(1, 2, '{1}');
        SELECT votes.cast(1, 3, '{2}');
        SELECT votes.close(1, true);
        SELECT errand.enqueue('household.chores')
        """

    private static let things = [
        ("a vote in review", "votes.votes WHERE id = 1 AND state = 'review'"),
        ("an open run", "payouts.runs WHERE id = 1 AND closing_at < now() AND closed_at IS NULL"),
        ("its chunk", "payouts.chunks WHERE run_id = 1 AND number = 1 AND done_at IS NULL"),
        ("a notice", "notification.notices WHERE id = 1"),
        ("its delivery", "notification.deliveries WHERE id = 1"),
        ("a coupon", "coupons.coupons WHERE id = 1"),
        ("an assignment", "missions.assignments WHERE id = 1"),
        ("a group", "household.groups WHERE id = 1"),
        ("a chore", "household.chores WHERE id = 1"),
        ("its turn", "household.occurrences WHERE id = 1"),
        ("a bill", "household.bills WHERE id = 1"),
        ("a payment", "household.payments WHERE id = 1"),
        ("a note", "household.notes WHERE id = 1"),
        ("an invitation", "household.invitations WHERE id = 1"),
    ]
}
