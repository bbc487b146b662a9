package import FoundationEssentials
package import Errand
package import ErrandPostgres

/// From what happened to jobs that tell people: decides at once, in the caller's transaction.
///
/// A row records each decision, one more each device or address, and a job for each of those
/// starts when the transaction commits.
package struct Teller: Sendable {
    let catalogue: NoticeCatalogue
    let policy: Policy
    let client: JobClient
    let zones: PeopleZones
    /// The job in whose handler people are told.
    let job: Int64?
    /// Where deliveries and items wait until all of them are released at once; nil: nowhere.
    let batch: String?

    package init(
        _ catalogue: NoticeCatalogue, client: JobClient, zones: PeopleZones = .shared,
        policy: Policy = Policy(), job: Int64? = nil, parkedIn batch: String? = nil
    ) {
        self.catalogue = catalogue
        self.policy = policy
        self.client = client
        self.zones = zones
        self.job = job
        self.batch = batch
    }

    /// A teller in the name of a job.
    ///
    /// - Parameter batch: nothing goes out before `notification.release(batch)`; for urgent kinds,
    ///   which the policy never holds for a time of their own.
    package init(
        _ catalogue: NoticeCatalogue, context: JobContext, policy: Policy = Policy(),
        parkedIn batch: String? = nil
    ) {
        self.init(
            catalogue, client: context.client, policy: policy, job: context.id, parkedIn: batch)
    }

    /// Decides about intents as of `now`, each seeing those before it.
    ///
    /// Give some hundreds at once: it takes a handful of statements whatever their number. People
    /// of whom something is remembered stay locked until the transaction ends.
    /// - Returns: an answer for each, in their order.
    /// - Throws: `JobError.invalid` for a kind that is not declared or words that cannot be made.
    @discardableResult
    package func tell(
        _ intents: [Intent], now: Date, in transaction: Transaction
    ) async throws -> [Answer] {
        guard !intents.isEmpty else { return [] }
        let now = Instant(date: now)
        let kinds = try intents.map { intent in
            guard let kind = catalogue.kinds[intent.kind] else {
                throw JobError.invalid("\(intent.kind) is no declared kind of notice")
            }
            return kind
        }
        var facts = try await facts(intents, kinds, now: now, in: transaction)
        var answers = [Answer](repeating: Answer(), count: intents.count)
        var rulings: [Ruling] = []
        var places: [Int] = []
        var seen: Set<String> = []
        for (place, intent) in intents.enumerated() {
            guard !facts.isKnown[place], seen.insert(intent.dedupeKey).inserted else { continue }
            guard let person = facts.people[intent.personID] else {
                answers[place].decision = .drop("nobody has the id \(intent.personID)")
                continue
            }
            let kind = kinds[place]
            let ruling = try rule(
                intent, kind, person: person, history: facts.history(place, intent), now: now)
            facts.note(ruling, now: now)
            if case .decided(let decision) = ruling.fate { answers[place].decision = decision }
            guard kind.recordsDrops || answers[place].isKept else { continue }
            rulings.append(ruling)
            places.append(place)
        }
        let recorded = try await insert(rulings, now: now, in: transaction)
        for (ruling, place) in zip(recorded, places) {
            answers[place].noticeID = ruling.noticeID
            // Somebody else has recorded the event in the meantime.
            if ruling.noticeID == nil { answers[place].decision = nil }
        }
        try await carryOut(recorded.filter { $0.noticeID != nil }, now: now, in: transaction)
        return answers
    }

    /// Reads the facts, the people locked where these can change what is decided of them.
    func facts(
        _ intents: [Intent], _ kinds: [NoticeKind], notices: [Int64]? = nil, now: Instant,
        in transaction: Transaction
    ) async throws -> Facts {
        let remembered = zip(intents, kinds).compactMap { intent, kind in
            kind.isRemembered ? intent.personID : nil
        }
        // A plan for any number of intents expects ten of them.
        let rows = try await transaction.pipeline(
            [Statement("SET LOCAL plan_cache_mode = force_custom_plan"), People.lock(remembered)]
                + Facts.statements(intents, kinds: kinds, notices: notices, now: now)
                + [Statement("SET LOCAL plan_cache_mode = auto")])
        return try Facts(intents, people: rows[2], histories: rows[3], zones: zones)
    }

    /// What the policy says of one intent, with the words for the inbox.
    func rule(
        _ intent: Intent, _ kind: NoticeKind, person: PersonFacts, history: SubjectHistory,
        now: Instant
    ) throws -> Ruling {
        var ruling = Ruling(
            intent, kind,
            policy.decide(
                kind, person: person, history: history, expires: intent.expiresAt,
                deadline: kind.deadline(in: intent.data), now: now))
        try equip(&ruling, person)
        return ruling
    }

    /// Adds what is needed to carry a ruling out.
    func equip(_ ruling: inout Ruling, _ person: PersonFacts) throws {
        let channels = ruling.channels
        if channels.contains(.push) { ruling.devices = person.devices(of: ruling.kind.app) }
        if channels.contains(.inbox) {
            ruling.words = try catalogue.wording.words(
                of: ruling.kind.name, on: .inbox, data: ruling.intent.data, zone: person.zone)
        }
    }
}

extension NoticeKind {
    /// From when on a person's own time is too late for a notice with these data.
    package func deadline(in data: [UInt8]) -> Instant? {
        guard case .ownTimeBefore(let fact) = timing else { return nil }
        return NoticeFacts.time(fact, in: data)
    }

    /// Whether what people were told before decides about it.
    var isRemembered: Bool { cooldown != nil || isReminder || urgency == .promotional }
}
