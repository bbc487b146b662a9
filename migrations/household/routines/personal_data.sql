-- All that the module knows of a person, for the person.

-- The rows of one query, each as an object.
CREATE OR REPLACE FUNCTION household.personal_data(person bigint) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    homes CONSTANT bigint[] := ARRAY(SELECT m.group_id FROM household.members m
        WHERE m.person_id = person ORDER BY 1);
BEGIN
    RETURN jsonb_strip_nulls(jsonb_build_object(
        'members', (SELECT jsonb_agg(jsonb_build_object('group_id', g.id, 'group', g.name,
                'currency', g.currency, 'called', m.called, 'joined_at', m.joined_at,
                'left_at', m.left_at, 'is_away', m.is_away, 'shopping_at', m.shopping_at)
                ORDER BY g.id)
            FROM household.members m JOIN household.groups g ON g.id = m.group_id
            WHERE m.person_id = person),
        'invitations', (SELECT jsonb_agg(to_jsonb(i) ORDER BY i.id)
            FROM household.invitations i WHERE person IN (i.inviter_id, i.invitee_id)),
        'notes', (SELECT jsonb_agg(to_jsonb(n) ORDER BY n.id) FROM household.notes n
            WHERE n.group_id = ANY (homes) AND n.author_id = person),
        'items', (SELECT jsonb_agg(to_jsonb(i) - 'name_key' ORDER BY i.id)
            FROM household.items i
            WHERE i.group_id = ANY (homes) AND person IN (i.person_id, i.added_by)),
        'failed_sessions', (SELECT jsonb_agg(to_jsonb(f) ORDER BY f.at)
            FROM household.failed_sessions f WHERE f.person_id = person))
        || household.money_data(person, homes) || household.chore_data(person, homes));
END $$;

-- Bills, payments and debts.
CREATE OR REPLACE FUNCTION household.money_data(person bigint, homes bigint[]) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN jsonb_build_object(
        'bills', (SELECT jsonb_agg(to_jsonb(b) - '{request,request_id,transaction_id}'::text[]
                ORDER BY b.id)
            FROM household.bills b
            WHERE b.group_id = ANY (homes) AND person IN (b.payer_id, b.entered_by)),
        'shares', (SELECT jsonb_agg(jsonb_build_object('bill_id', b.id, 'title', b.title,
                'spent_on', b.spent_on, 'amount', s.amount, 'revision', s.revision)
                ORDER BY b.id, s.revision)
            FROM household.bills b JOIN household.shares s ON s.bill_id = b.id
            WHERE b.group_id = ANY (homes) AND s.person_id = person),
        'payments', (SELECT jsonb_agg(to_jsonb(p) - '{request_id,transaction_id}'::text[]
                ORDER BY p.id)
            FROM household.payments p WHERE p.from_id = person OR p.to_id = person),
        'debts', (SELECT jsonb_agg(to_jsonb(d)) FROM household.debts(person) d));
END $$;

-- Chores.
CREATE OR REPLACE FUNCTION household.chore_data(person bigint, homes bigint[]) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN jsonb_build_object(
        'chores', (SELECT jsonb_agg(jsonb_build_object('chore_id', c.id, 'title', c.title,
                'rule', c.rule, 'created_at', c.created_at) ORDER BY c.id)
            FROM household.chores c WHERE c.group_id = ANY (homes) AND c.created_by = person),
        'turns', (SELECT jsonb_agg(to_jsonb(t) ORDER BY t.chore_id) FROM household.turns t
            WHERE t.person_id = person),
        'occurrences', (SELECT jsonb_agg(jsonb_build_object('chore_id', c.id, 'title', c.title,
                'due_on', o.due_on, 'state', o.state, 'assignee_id', o.assignee_id,
                'instead_of', o.instead_of, 'done_by', o.done_by, 'done_at', o.done_at,
                'words', o.words, 'picture', o.picture) ORDER BY o.id)
            FROM household.occurrences o JOIN household.chores c ON c.id = o.chore_id
            WHERE o.group_id = ANY (homes)
              AND person IN (o.assignee_id, o.instead_of, o.done_by)),
        'events', (SELECT jsonb_agg(to_jsonb(e) - 'slot' ORDER BY e.group_id, e.number)
            FROM household.events e
            WHERE e.group_id = ANY (homes) AND e.person_id = person));
END $$;
