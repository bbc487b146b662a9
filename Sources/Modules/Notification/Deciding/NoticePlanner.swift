package import FoundationEssentials
package import Errand
package import ErrandPostgres

/// Decides about events at once, in the caller's transaction, and enqueues their deliveries.
///
/// Inserts a row for each decision, a row for each delivery to a device or address, and a job for
/// each delivery.
package struct NoticePlanner: Sendable {
    let catalogue: NoticeCatalogue
    let policy: Policy
    let client: JobClient
    let zones: PeopleZones
    /// The job whose handler notifies people.
    let job: Int64?
    /// The batch that parks deliveries and inbox items until its release; nil to send at once.
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

    /// Creates a planner for the handler of a job.
    ///
    /// - Parameter batch: parks everything until `notification.release(batch)`. Use it only for
    ///   urgent kinds, which the policy never holds.
    package init(
        _ catalogue: NoticeCatalogue, context: JobContext, policy: Policy = Policy(),
        parkedIn batch: String? = nil
    ) {
        self.init(
            catalogue, client: context.client, policy: policy, job: context.id, parkedIn: batch)
    }

    /// Decides about intents as of `now`, in order: each decision counts for the later ones.
    ///
    /// Pass some hundreds at once: the number of statements is constant. If the history of a person
    /// matters, the person stays locked until the transaction ends.
    /// - Returns: the answers, in the order of the intents.
    /// - Throws: `JobError.invalid` for an undeclared kind or data that cannot be rendered.
    @discardableResult
    package func notify(
        _ intents: [Intent], now: Date, in transaction: Transaction
    ) async throws -> [Answer] {
        guard !intents.isEmpty else { return [] }
        let now = Instant(date: now)
        let kinds = try intents.map { intent in
            guard let kind = catalogue.kinds[intent.kind] else {
                throw JobError.invalid("\(intent.kind) is not a declared kind of notice")
            }
            guard kind.secrets.isEmpty else {
                throw JobError.invalid("\(intent.kind) has secrets: call notification.intend()")
            }
            return kind
        }
        var facts = try await facts(intents, kinds, now: now, in: transaction)
        var answers = [Answer](repeating: Answer(), count: intents.count)
        var plans: [NoticePlan] = []
        var places: [Int] = []
        var seen: Set<String> = []
        for (place, intent) in intents.enumerated() {
            guard !facts.isKnown[place], seen.insert(intent.dedupeKey).inserted else { continue }
            guard let person = facts.people[intent.personID] else {
                answers[place].decision = .drop("no person has the id \(intent.personID)")
                continue
            }
            let kind = kinds[place]
            guard !person.isErased else {
                answers[place].decision = .drop("the person was erased")
                continue
            }
            var intent = intent
            if person.isBlocked { intent.data = [UInt8]("{}".utf8) }
            let plan = try rule(
                intent, kind, person: person, history: facts.history(place, intent), now: now)
            facts.note(plan, now: now)
            if case .decided(let decision) = plan.fate { answers[place].decision = decision }
            guard kind.recordsDrops || answers[place].isKept else { continue }
            plans.append(plan)
            places.append(place)
        }
        let recorded = try await insert(plans, now: now, in: transaction)
        for (plan, place) in zip(recorded, places) {
            answers[place].noticeID = plan.noticeID
            // Another transaction has recorded the event in the meantime.
            if plan.noticeID == nil { answers[place].decision = nil }
        }
        try await persist(recorded.filter { $0.noticeID != nil }, now: now, in: transaction)
        return answers
    }

    /// Reads the facts, and locks the people whose history matters for the decision.
    func facts(
        _ intents: [Intent], _ kinds: [NoticeKind], notices: [Int64]? = nil, now: Instant,
        in transaction: Transaction
    ) async throws -> Facts {
        let remembered = zip(intents, kinds).compactMap { intent, kind in
            kind.isRemembered ? intent.personID : nil
        }
        // A generic plan would assume ten intents.
        let rows = try await transaction.pipeline(
            [Statement("SET LOCAL plan_cache_mode = force_custom_plan"), People.lock(remembered)]
                + Facts.statements(intents, kinds: kinds, notices: notices, now: now)
                + [Statement("SET LOCAL plan_cache_mode = auto")])
        return try Facts(intents, people: rows[2], histories: rows[3], zones: zones)
    }

    /// Returns the policy's plan for one intent, with the text for the inbox.
    func rule(
        _ intent: Intent, _ kind: NoticeKind, person: PersonFacts, history: SubjectHistory,
        now: Instant
    ) throws -> NoticePlan {
        var plan = NoticePlan(
            intent, kind,
            policy.decide(
                kind, person: person, history: history, expires: intent.expiresAt,
                deadline: kind.deadline(in: intent.data), now: now))
        try attach(&plan, person)
        return plan
    }

    /// Adds the devices and the text for the inbox that a plan needs.
    func attach(_ plan: inout NoticePlan, _ person: PersonFacts) throws {
        let channels = plan.channels
        if channels.contains(.push) { plan.devices = person.devices(of: plan.kind.app) }
        if channels.contains(.inbox) {
            plan.words = try catalogue.wording.words(
                of: plan.kind.name, on: .inbox, data: plan.intent.data, zone: person.zone)
        }
    }
}

extension NoticeKind {
    /// Returns the time from which on the person's own time is too late for these data.
    package func deadline(in data: [UInt8]) -> Instant? {
        guard case .ownTimeBefore(let fact) = timing else { return nil }
        return NoticeFacts.time(fact, in: data)
    }

    /// Whether earlier notices matter for the decision.
    var isRemembered: Bool { cooldown != nil || isReminder || urgency == .promotional }
}
