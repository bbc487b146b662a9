-- Completing surveys: answers, reward, coupon, badges and webhook in one transaction.

-- The name of a person for an establishment: an HMAC, which no other establishment has.
CREATE OR REPLACE FUNCTION surveys.respondent(establishment bigint, person bigint) RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    padded bytea;
    ipad bytea := decode(repeat('36', 64), 'hex');
    opad bytea := decode(repeat('5c', 64), 'hex');
BEGIN
    padded := (SELECT k.key FROM surveys.respondent_keys k) || decode(repeat('00', 32), 'hex');
    FOR place IN 0..31 LOOP
        ipad := set_byte(ipad, place, 54 # get_byte(padded, place));
        opad := set_byte(opad, place, 92 # get_byte(padded, place));
    END LOOP;
    RETURN encode(substr(coupons.mac(ipad, opad, int8send(establishment) || int8send(person)),
        1, 16), 'hex');
END $$;

CREATE OR REPLACE FUNCTION surveys.refused(reason text) RETURNS surveys.completed
LANGUAGE sql IMMUTABLE
RETURN ROW (reason, NULL, NULL, NULL, NULL)::surveys.completed;

-- Sends the webhook of a completion. Texts are left out if they are too long for a webhook.
CREATE OR REPLACE FUNCTION surveys.emit_completed(c surveys.completions) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    data jsonb := jsonb_build_object('survey_id', c.survey_id, 'version', c.version,
        'establishment_id', c.establishment_id, 'branch_id', c.branch_id,
        'completed_hour', people.written(date_trunc('hour', c.completed_at, 'UTC')),
        'respondent', surveys.respondent(c.establishment_id, c.person_id),
        'answers', surveys.masked_answers(c.answers));
    event bigint;
BEGIN
    IF octet_length(data::text) > 19000 THEN
        data := data || jsonb_build_object('answers', surveys.without_texts(c.answers),
            'texts_left_out', true);
    END IF;
    IF octet_length(data::text) > 19000 THEN
        data := (data - 'answers') || '{"answers_left_out": true}';
    END IF;
    event := notification.emit('survey.completed', 'establishment:' || c.establishment_id, data,
        'survey:' || c.invitation_id || ':completed');
    -- The exact time would lead to the person who was at the till then.
    UPDATE notification.events e SET occurred_at = date_trunc('hour', c.completed_at, 'UTC')
    WHERE e.id = event;
END $$;

-- Completes an invitation at a time. The ledger comes last, because it locks balances that many
-- transactions contend for.
CREATE OR REPLACE FUNCTION surveys.complete_at(
    person bigint, invitation bigint, answers jsonb, seconds_spent int, request_id text,
    at timestamptz
) RETURNS surveys.completed LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    f record;
    answer surveys.completed;
BEGIN
    IF (length(request_id) BETWEEN 1 AND 100) IS NOT TRUE THEN
        PERFORM surveys.expect_request('complete', request_id);
    END IF;
    answers := jsonb_strip_nulls(answers);
    SELECT i.survey_id, i.version, i.establishment_id, i.branch_id, i.state, i.expires_at, v.paid,
        v.cut, v.currency, CASE WHEN e.closed_at IS NULL THEN v.coupon_title END AS coupon_title,
        v.coupon_days, p.time_zone,
        people.is_clear(p) IS TRUE OR people.obstacle(person, at) = 'none' AS is_allowed,
        CASE WHEN i.state = 'open' AND i.expires_at > at
            THEN surveys.fault_in(answers, i.survey_id, i.version) END AS fault,
        EXISTS (SELECT FROM notification.endpoints h
            WHERE h.owner = 'establishment:' || i.establishment_id AND h.disabled_at IS NULL
              AND h.events && '{survey.completed,*}')
        AND EXISTS (SELECT FROM people.consents s WHERE s.person_id = person
            AND s.what = 'sharing' AND s.replaced_at IS NULL AND s.withdrawn_at IS NULL)
            AS is_sent,
        (SELECT a.id FROM ledger.accounts a WHERE a.owner = person AND a.kind = 'person'
            AND a.currency = v.currency) AS payee,
        (SELECT a.id FROM ledger.accounts a WHERE a.owner = i.establishment_id
            AND a.kind = 'establishment' AND a.currency = v.currency) AS payer,
        (SELECT a.id FROM ledger.accounts a WHERE a.owner = 0 AND a.kind = 'commission'
            AND a.currency = v.currency) AS share,
        'survey:' || i.survey_id || ':' || gen_random_uuid() AS origin
    INTO f
    FROM surveys.invitations i
    JOIN people.people p ON p.id = i.person_id
    JOIN surveys.versions v ON v.survey_id = i.survey_id AND v.version = i.version
    JOIN establishments.establishments e ON e.id = i.establishment_id
    WHERE i.id = invitation AND i.person_id = person;
    IF (f.state = 'open' AND f.is_allowed AND f.expires_at > at AND f.fault IS NULL
        AND seconds_spent BETWEEN 0 AND 1000000) IS NOT TRUE THEN
        RETURN surveys.completion_refusal(person, invitation, f.state, f.is_allowed, f.expires_at,
            f.fault, answers, request_id, at);
    END IF;
    UPDATE surveys.invitations i SET state = 'completed', ended_at = at
    WHERE i.id = invitation AND i.state = 'open';
    IF NOT FOUND THEN
        -- Another request has just completed or withdrawn it: a new query sees that.
        RETURN surveys.complete_at(person, invitation, answers, seconds_spent, request_id, at);
    END IF;
    IF f.coupon_title IS NOT NULL THEN
        answer.coupon_id := coupons.grant_checked(person, f.establishment_id, f.coupon_title,
            surveys.end_of_day(at, f.coupon_days, f.time_zone), f.origin, at);
    END IF;
    INSERT INTO surveys.completions (invitation_id, survey_id, version, establishment_id,
        branch_id, person_id, completed_at, seconds_spent, answers, origin, coupon_id,
        request_id)
    VALUES (invitation, f.survey_id, f.version, f.establishment_id, f.branch_id, person, at,
        seconds_spent, answers, f.origin, answer.coupon_id, request_id);
    IF f.is_sent THEN
        PERFORM surveys.emit_completed(c)
        FROM surveys.completions c WHERE c.invitation_id = invitation;
    END IF;
    -- The price is that of the version, whatever the limits of other rewards have become. The
    -- ledger refuses times in the future.
    PERFORM badges.count_deed(person, 'survey_done', f.establishment_id),
        ledger.credit_checked(person, f.origin, f.establishment_id, f.paid, f.cut, f.currency,
            least(at, clock_timestamp()), f.payee, f.payer, f.share);
    RETURN ROW ('ok', f.cut, f.currency, answer.coupon_id, at)::surveys.completed;
END $$;

-- The answer to a request that completes no invitation. The state is null for an invitation that
-- the person does not have.
CREATE OR REPLACE FUNCTION surveys.completion_refusal(
    person bigint, invitation bigint, state surveys.invitation_state, is_allowed boolean,
    expires_at timestamptz, fault text, answers jsonb, request_id text, at timestamptz
) RETURNS surveys.completed LANGUAGE plpgsql AS $$
DECLARE
    reason text;
BEGIN
    IF state IS NULL THEN
        RETURN surveys.refused('unknown');
    ELSIF state = 'completed' THEN
        RETURN surveys.completed_before(invitation, answers, request_id);
    END IF;
    IF NOT is_allowed OR state = 'withdrawn' THEN
        reason := nullif(people.obstacle(person, at), 'none');
    END IF;
    RETURN surveys.refused(coalesce(reason, CASE
        WHEN expires_at <= at OR state = 'expired' THEN 'expired'
        WHEN state <> 'open' THEN 'unknown'
        -- Without a fault, the seconds are wrong.
        ELSE coalesce(fault, 'malformed') END));
END $$;

-- The answer to a completion of an invitation that is completed.
CREATE OR REPLACE FUNCTION surveys.completed_before(
    invitation bigint, answers jsonb, request_id text
) RETURNS surveys.completed LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    done record;
BEGIN
    SELECT c.answers, c.request_id, v.cut, v.currency, c.coupon_id, c.completed_at INTO done
    FROM surveys.completions c
    JOIN surveys.versions v ON v.survey_id = c.survey_id AND v.version = c.version
    WHERE c.invitation_id = invitation;
    IF done.request_id IS DISTINCT FROM request_id THEN
        RETURN surveys.refused('done');
    ELSIF done.answers IS DISTINCT FROM answers THEN
        RAISE EXCEPTION 'the request_id % completed invitation % with other answers', request_id,
            invitation USING ERRCODE = 'unique_violation',
                HINT = 'Answers cannot be changed.';
    END IF;
    RETURN ROW ('ok', done.cut, done.currency, done.coupon_id, done.completed_at)
        ::surveys.completed;
END $$;

CREATE OR REPLACE FUNCTION surveys.complete(
    person bigint, invitation bigint, answers jsonb, seconds_spent int, request_id text
) RETURNS surveys.completed LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN surveys.complete_at(
        person, invitation, answers, seconds_spent, request_id, clock_timestamp());
END $$;
COMMENT ON FUNCTION surveys.complete(bigint, bigint, jsonb, int, text) IS $doc$
Completes a person's survey: keeps the answers, credits the reward, grants the coupon, counts for
badges, and notifies the webhooks of the establishment if the person shares their answers.

Arguments:
  person: who answered
  invitation: the invitation
  answers: an object with the answer of each question by its number: a rating as a number from 1 to
    5, a choice as the number of the option from 1, many as an array of these, yes_no as a boolean,
    a text as a string of up to 1,000 characters. Null is no answer
  seconds_spent: how long the person took
  request_id: the app's id of this request, 1 to 100 characters, the same when it repeats it
Returns:
  reason: ok, or why not
  reward: what the person earned, in minor units
  currency: the currency of the reward
  coupon_id: the coupon; null for none, as of an establishment that is closed
  completed_at: when it was completed
Reasons:
  ok: this request completed the survey
  done: another request completed it
  expired: its last day is over
  malformed: an answer does not fit its question, or seconds_spent is not a number from 0
  wrong_version: the invitation's version has no question of such a number
  incomplete: a required answer is missing
  unknown: the person has no such invitation
  under_age: the person is under 16
  no_birth_date: the person's age is unknown: set birth_date with people.put_person
  blocked: the person's erasure was requested
Errors:
  22023: the request_id is missing or too long
  23505: the request_id completed the invitation with other answers
Repeated: answers the same as the first time, and credits nothing more.
Sample:
  SELECT reason, reward, currency, coupon_id FROM surveys.complete(person => 17, invitation => 1,
      answers => '{"1": 5, "2": "More chairs"}', seconds_spent => 95, request_id => 'done-1');
$doc$;
