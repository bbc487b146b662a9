import FoundationEssentials
package import ErrandPostgres

/// A kind of notice as `notification.kinds` has it, so that `notification.intend()` knows it.
private struct NoticeDeclaration: Encodable {
    var kind: String
    var app: String
    var urgency: String
    var isMandatory: Bool
    var channels: [String]
    var facts: [String: String]
    var secrets: [String]

    init(_ kind: NoticeKind) {
        self.kind = kind.name
        app = kind.app.name
        urgency = kind.urgency.rawValue
        isMandatory = kind.isMandatory
        channels = kind.channels.map(\.rawValue)
        facts = kind.fields.mapValues { "\($0)" }
        secrets = kind.secrets.sorted()
    }

    enum CodingKeys: String, CodingKey {
        case kind, app, urgency, channels, facts, secrets
        case isMandatory = "is_mandatory"
    }
}

extension NoticeCatalogue {
    /// Returns the statement that declares the kinds, without digests, which no event names.
    ///
    /// Of programs with different versions of a kind, the last that starts decides.
    package func declaration() throws -> Statement {
        let declared = named.map(NoticeDeclaration.init)
        return Statement(
            Self.declare, [.json([UInt8](try JSONEncoder().encode(declared)))])
    }

    /// Returns the statement that notes, at most once an hour, that a program has the kinds.
    ///
    /// It changes nothing else: another program may have declared other facts since.
    package func renewal() -> Statement {
        Statement(Self.renew, [.textArray(named.map(\.name))])
    }

    /// The kinds that events name, in order.
    private var named: [NoticeKind] {
        let digests = Set(kinds.values.compactMap { $0.digest?.name })
        return kinds.values.filter { !digests.contains($0.name) }.sorted { $0.name < $1.name }
    }

    private static let renew = """
        UPDATE notification.kinds k SET declared_at = clock_timestamp()
        WHERE k.kind IN (
            SELECT o.kind FROM notification.kinds o
            WHERE o.kind = ANY ($1) AND o.declared_at < clock_timestamp() - interval '1 hour'
            ORDER BY o.kind FOR UPDATE)
        """

    private static let declare = """
        INSERT INTO notification.kinds AS k (kind, app, urgency, is_mandatory, channels, facts,
            secrets)
        SELECT d.kind, d.app, d.urgency, d.is_mandatory, d.channels, d.facts, d.secrets
        FROM jsonb_to_recordset($1) AS d (kind text, app text, urgency text, is_mandatory boolean,
            channels text[], facts jsonb, secrets text[])
        ORDER BY d.kind
        ON CONFLICT (kind) DO UPDATE
        SET app = excluded.app, urgency = excluded.urgency, is_mandatory = excluded.is_mandatory,
            channels = excluded.channels, facts = excluded.facts, secrets = excluded.secrets,
            declared_at = clock_timestamp()
        WHERE (k.app, k.urgency, k.is_mandatory, k.channels, k.facts, k.secrets)
            IS DISTINCT FROM (excluded.app, excluded.urgency, excluded.is_mandatory,
                excluded.channels, excluded.facts, excluded.secrets)
            OR k.declared_at < clock_timestamp() - interval '1 hour'
        """
}
