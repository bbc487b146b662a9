/// The recipients and facts of notices, as they are when a notice is decided.
///
/// The fact `named` has the ids of the people whom a notice names: by it the erasure of one of them
/// finds the notices to the others.
enum NewsStatements {
    /// The other members of group $2 about what person $3 has done (event $1, its number $4; of
    /// chore $5, its turn $6 or note $7), if it is so still at $8; those who lived there at $9.
    static let others = """
        SELECT m.person_id, 'household:' || g.id || ':' || $4::bigint AS subject,
            jsonb_strip_nulls(household.by(g.id, $3::bigint) || jsonb_build_object(
                'group', g.name, 'title', c.title, 'body', CASE WHEN n.id IS NOT NULL
                    THEN coalesce(left(n.body, 500), 'A picture.') END)) AS data,
            NULL::text AS event, NULL::timestamptz AS expires_at
        FROM household.groups g
        JOIN household.members m ON m.group_id = g.id AND m.left_at IS NULL
            AND m.person_id IS DISTINCT FROM $3::bigint
            AND m.joined_at <= coalesce($9::text::timestamptz, 'infinity')
        LEFT JOIN household.members a ON a.group_id = g.id AND a.person_id = $3::bigint
        LEFT JOIN household.chores c ON c.id = $5::bigint
        LEFT JOIN household.occurrences o ON o.id = $6::bigint
        LEFT JOIN household.notes n ON n.id = $7::bigint
        WHERE g.id = $2::bigint AND CASE $1
            WHEN 'left' THEN a.left_at IS NOT NULL
            WHEN 'joined' THEN a.left_at IS NULL
            WHEN 'going_shopping' THEN a.left_at IS NULL
            WHEN 'away' THEN a.is_away
            WHEN 'back' THEN NOT a.is_away AND a.left_at IS NULL
            WHEN 'chore_removed' THEN c.is_removed
            WHEN 'chore_done' THEN o.state = 'done'
            WHEN 'chore_skipped' THEN o.state = 'skipped'
            WHEN 'chore_taken_over' THEN o.assignee_id = $3::bigint
            WHEN 'note_added' THEN n.expires_at > $8
            WHEN 'group_changed' THEN true
            ELSE NOT c.is_removed END
        """

    /// The author in $4 of a note that person $2 of group $1 has taken off (event number $3), if
    /// they live there.
    static let author = """
        SELECT m.person_id, 'household:' || m.group_id || ':' || $3::bigint AS subject,
            household.by(m.group_id, $2::bigint) AS data,
            NULL::text AS event, NULL::timestamptz AS expires_at
        FROM household.members m
        WHERE m.group_id = $1::bigint AND m.person_id = ANY ($4) AND m.left_at IS NULL
        """

    /// Those who pay a bill $1 or bear some of it or did before its revision $4 (then $5 has paid
    /// it), and of a trip all, but for person $2; if it is removed as $3 says.
    ///
    /// The facts are the current ones, so that several edits in a row cause one notice.
    static let bill = """
        SELECT p.person_id, 'household_bill:' || b.id AS subject,
            household.by(b.group_id, $2::bigint) || jsonb_build_object(
                'group', g.name, 'title', b.title,
                'amount', jsonb_build_object('minor', b.amount, 'currency', g.currency),
                'share', jsonb_build_object('minor', coalesce(s.amount, 0),
                    'currency', g.currency)) AS data,
            b.id || ':' || extract(epoch FROM coalesce(b.changed_at, b.entered_at)) AS event,
            NULL::timestamptz AS expires_at
        FROM household.bills b JOIN household.groups g ON g.id = b.group_id
        CROSS JOIN LATERAL (
            SELECT h.person_id FROM household.shares h
            WHERE h.bill_id = b.id
              AND h.revision >= coalesce($4::int, b.revision) - CASE WHEN $3 THEN 0 ELSE 1 END
            UNION SELECT b.payer_id
            UNION SELECT $5::bigint WHERE $5::bigint IS NOT NULL
            UNION SELECT m.person_id FROM household.members m
            WHERE b.is_trip AND m.group_id = b.group_id AND m.left_at IS NULL
              AND m.joined_at <= coalesce(b.changed_at, b.entered_at)) p
        LEFT JOIN household.shares s ON s.bill_id = b.id AND s.revision = b.revision
            AND s.person_id = p.person_id
        WHERE b.id = $1::bigint AND p.person_id IS DISTINCT FROM $2::bigint
          AND b.is_removed = $3
        """

    /// The other one of payment $1, which person $2 noted; taken back or not as $3 says.
    static let payment = """
        SELECT CASE $2::bigint WHEN p.from_id THEN p.to_id ELSE p.from_id END AS person_id,
            'household_payment:' || p.id AS subject,
            household.by(p.group_id, $2::bigint) || jsonb_build_object(
                'amount', jsonb_build_object('minor', p.amount, 'currency', g.currency)) AS data,
            NULL::text AS event, NULL::timestamptz AS expires_at
        FROM household.payments p JOIN household.groups g ON g.id = p.group_id
        WHERE p.id = $1::bigint AND (p.undone_at IS NOT NULL) = $3
        """

    /// Who was invited by invitation $1, or who sent it, if it is in state $2.
    static let invitation = """
        SELECT CASE $2 WHEN 'sent' THEN i.invitee_id ELSE i.inviter_id END AS person_id,
            'household_invitation:' || i.id AS subject,
            household.by(i.group_id, i.inviter_id) || jsonb_build_object(
                'group', g.name, 'until', i.expires_at) AS data,
            NULL::text AS event, CASE $2 WHEN 'sent' THEN i.expires_at END AS expires_at
        FROM household.invitations i JOIN household.groups g ON g.id = i.group_id
        WHERE i.id = $1::bigint AND i.state::text = $2
        """

    /// Who has the turns $2 at chores, if what event $1 says of them is so; reminders by person $3
    /// go to those of $4.
    static let turns = """
        SELECT o.assignee_id AS person_id, 'chore_turn:' || o.id AS subject,
            CASE WHEN $3::bigint IS NULL THEN '{"by": ""}'
                ELSE household.by(o.group_id, $3::bigint) END || jsonb_build_object(
                'title', c.title, 'due_on', o.due_on, 'due_at', o.due_at) AS data,
            CASE $1 WHEN 'chore_due' THEN o.id::text
                WHEN 'chore_overdue' THEN o.id || ':' || o.reminders
                WHEN 'chore_handed_over' THEN o.id::text END AS event,
            -- Also where quiet hours end later on that day.
            CASE $1 WHEN 'chore_due' THEN least(o.remind_from, o.due_at + CASE
                WHEN c.at_time IS NULL THEN interval '0' ELSE interval '12 hours' END)
                END AS expires_at
        FROM household.occurrences o JOIN household.chores c ON c.id = o.chore_id
        WHERE o.id = ANY ($2) AND o.assignee_id IS NOT NULL AND NOT c.is_removed
          AND o.state::text = ANY (CASE $1 WHEN 'chore_due' THEN ARRAY['due']
              WHEN 'chore_overdue' THEN ARRAY['overdue'] ELSE ARRAY['due', 'overdue'] END)
          AND ($4::bigint[] IS NULL OR o.assignee_id = ANY ($4::bigint[]))
        """

    /// What somebody had last and missed before the turns $1 came, and who.
    static let missed = """
        SELECT p.id, p.assignee_id AS person_id
        FROM household.occurrences o CROSS JOIN LATERAL (
            SELECT b.id, b.assignee_id, b.state FROM household.occurrences b
            WHERE b.chore_id = o.chore_id AND b.due_on < o.due_on AND b.assignee_id IS NOT NULL
            ORDER BY b.due_on DESC LIMIT 1) p
        WHERE o.id = ANY ($1) AND p.state = 'missed'
        """

    /// What was to be done of chore $1 when it was removed.
    static let dropped = """
        SELECT o.id FROM household.occurrences o
        WHERE o.chore_id = $1::bigint AND o.state = 'dropped' ORDER BY o.due_on DESC LIMIT 3
        """

    /// All of the group of chore $1, each of whom can fix it, if it still does not come since
    /// change $2.
    static let fault = """
        SELECT m.person_id, 'chore:' || c.id AS subject,
            jsonb_build_object('title', c.title, 'reason', c.fault) AS data,
            c.id || ':' || c.plan AS event, NULL::timestamptz AS expires_at
        FROM household.chores c
        JOIN household.members m ON m.group_id = c.group_id AND m.left_at IS NULL
        WHERE c.id = $1::bigint AND c.plan = $2::int AND c.fault IS NOT NULL AND NOT c.is_removed
        """

    /// Those of $3 who owe person $2 of group $1.
    static let debts = """
        SELECT d.debtor_id AS person_id,
            '\(DebtReminders.subjectPrefix)' || d.group_id AS subject,
            household.by(d.group_id, d.creditor_id) || jsonb_build_object(
                'amount', jsonb_build_object('minor', d.amount, 'currency', d.currency)) AS data,
            NULL::text AS event, NULL::timestamptz AS expires_at
        FROM household.balances(ARRAY[$1::bigint]) d
        WHERE d.creditor_id = $2::bigint AND d.debtor_id = ANY ($3)
        """

    /// The people whom groups $1 notify at the end $2 of a month, each of all their debts; of them
    /// person $4 alone, if one is named.
    ///
    /// Each is notified once of a month, whatever group comes first. In their zones: on that day
    /// or, where quiet hours are, when these end; late rather than never.
    static let balances = """
        SELECT p.person_id, '\(duesSubject)' AS subject, p.data, $2::date::text AS event,
            $3::timestamptz + interval '40 hours' AS expires_at
        FROM (SELECT d.person_id, household.balance_notice(d.person_id, $2::date) AS data
            FROM (SELECT DISTINCT d.person_id FROM household.debtors($1, $2::date) d
                WHERE $4::bigint IS NULL OR d.person_id = $4 OFFSET 0) d
            OFFSET 0) p
        WHERE p.data IS NOT NULL ORDER BY 1
        """
    /// What all notices of balances are about: of those that wait, each person has one.
    static let duesSubject = "household_dues"
    /// Who has ever lived in group $1.
    static let everybody = """
        SELECT m.person_id FROM household.members m WHERE m.group_id = $1::bigint
        """
    /// What persons $1 owe now, at the ends of the months of notices with the facts $2; in their
    /// order.
    static let currentBalances = """
        SELECT household.balance_notice(u.person, (u.data::jsonb ->> 'month_end')::date)::text
        FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS u (person, data, place)
        ORDER BY u.place
        """

    /// Person $1, of whose sessions one with the digest $2 failed.
    static let session = """
        SELECT f.person_id, 'session:' || left($2, 16) AS subject,
            jsonb_build_object('at', f.at) AS data, $2 AS event, NULL::timestamptz AS expires_at
        FROM household.failed_sessions f
        WHERE f.person_id = $1::bigint
          AND encode(sha256(convert_to(f.session, 'UTF8')), 'hex') = $2
        """
}
