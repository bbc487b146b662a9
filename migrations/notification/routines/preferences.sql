-- What people choose: which kinds of notice by which channels.

CREATE OR REPLACE FUNCTION notification.set_preference(
    person bigint, kind text, channel text, is_on boolean
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    PERFORM people.expect_person(person);
    PERFORM errand.expect(channel IN ('push', 'email', 'inbox'),
        format('channel %s: expected push, email or inbox', coalesce(channel, 'null')));
    IF kind IS DISTINCT FROM '*' THEN
        IF NOT EXISTS (SELECT FROM notification.kinds) THEN
            PERFORM errand.ask_again('no program has declared its kinds of notice yet',
                'Run errand migrate or start a worker, and call again.');
        END IF;
        PERFORM errand.expect(EXISTS (SELECT FROM notification.kinds k WHERE k.kind = kind),
            format('kind %s: expected a declared kind of notice, or *', coalesce(kind, 'null')));
        PERFORM errand.expect(EXISTS (
                SELECT FROM notification.kinds k
                WHERE k.kind = kind AND channel = ANY (k.channels)),
            format('kind %s is not sent by %s', kind, channel));
    END IF;
    IF is_on IS NULL THEN
        DELETE FROM notification.preferences r
        WHERE r.person_id = person AND r.kind = set_preference.kind
          AND r.channel = set_preference.channel;
    ELSE
        INSERT INTO notification.preferences AS r (person_id, kind, channel, is_on)
        SELECT p.id, kind, channel, is_on
        FROM people.people p WHERE p.id = person AND p.erased_at IS NULL
        ON CONFLICT ON CONSTRAINT preferences_pkey DO UPDATE SET is_on = excluded.is_on
        WHERE r.is_on <> excluded.is_on;
    END IF;
END $$;
COMMENT ON FUNCTION notification.set_preference(bigint, text, text, boolean) IS $doc$
Records whether a person wants a kind of notice by a channel. Urgent kinds and changed terms are
sent whatever is turned off. Mail that was turned on is sent beside pushes, also by kinds that mail
only to people without a device.

Arguments:
  person: who chooses
  kind: the kind of notice, or * for all that have no choice of their own
  channel: push, email or inbox
  is_on: true or false; null removes the choice, so that the default applies
Returns:
  set_preference: nothing
Errors:
  22023: no program has declared the kind, or it is not sent by the channel
  23503: no such person
  RU002: no program has declared its kinds of notice yet: run errand migrate
Repeated: changes nothing.
Sample:
  SELECT notification.set_preference(17, kind => 'coupon.nearby', channel => 'email',
      is_on => true);
$doc$;

CREATE OR REPLACE FUNCTION notification.preferences_of(person bigint)
RETURNS TABLE (app text, kind text, channel text, is_on boolean, choice boolean,
    can_be_off boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT k.app, k.kind, c.channel,
        k.is_mandatory OR coalesce(own.is_on, general.is_on, true), own.is_on,
        NOT k.is_mandatory
    FROM (
        SELECT '*' AS kind, '*' AS app, '{push,email,inbox}'::text[] AS channels,
            false AS is_mandatory
        UNION ALL
        SELECT n.kind, n.app, n.channels, n.is_mandatory OR n.urgency = 'urgent'
        FROM notification.kinds n
    ) AS k
    CROSS JOIN LATERAL unnest(k.channels) WITH ORDINALITY AS c (channel, place)
    LEFT JOIN notification.preferences own
        ON own.person_id = person AND own.kind = k.kind AND own.channel = c.channel
    LEFT JOIN notification.preferences general
        ON general.person_id = person AND general.kind = '*' AND general.channel = c.channel
    WHERE EXISTS (SELECT FROM people.people p WHERE p.id = person)
    ORDER BY k.kind, c.place
$$;
COMMENT ON FUNCTION notification.preferences_of(bigint) IS $doc$
Returns what a person has chosen for each kind of notice and channel, and what applies: for a page
of settings. No row for an unknown person.

Arguments:
  person: whose choices
Returns:
  app: the app of the kind; * for the choices for all kinds
  kind: the kind of notice; * for all that have no choice of their own
  channel: push, email or inbox
  is_on: what applies: the choice, that for all kinds, or true
  choice: the person's own choice for this kind; null if there is none
  can_be_off: false for urgent kinds and changed terms, which are sent whatever is turned off
Repeated: Reads only.
Sample:
  SELECT kind, channel, is_on, choice FROM notification.preferences_of(17) WHERE app = 'survey';
$doc$;
