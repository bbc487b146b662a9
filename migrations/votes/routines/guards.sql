-- Checks the transitions between states, and protects columns that never change.
CREATE OR REPLACE FUNCTION votes.guard_vote() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state <> NEW.state AND NOT (CASE OLD.state
        WHEN 'open' THEN NEW.state IN ('closed', 'cancelled')
        WHEN 'closed' THEN NEW.state IN ('review', 'counted', 'cancelled')
        WHEN 'review' THEN NEW.state IN ('counted', 'cancelled')
        WHEN 'counted' THEN NEW.state = 'published'
        ELSE false END) THEN
        RAISE EXCEPTION 'vote % is %: it cannot become %', OLD.id, OLD.state, NEW.state
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF (OLD.id, OLD.initiator, OLD.key_id, OLD.expected, OLD.options, OLD.max_choices)
        IS DISTINCT FROM (NEW.id, NEW.initiator, NEW.key_id, NEW.expected, NEW.options,
            NEW.max_choices)
        -- Of a vote that is over, the erasure of its initiator may take the subject away.
        OR OLD.subject <> NEW.subject
            AND NOT (votes.is_ended(NEW.state) AND NEW.subject = 'Erased')
        OR OLD.root IS NOT NULL
            AND (OLD.root, OLD.ballots, OLD.voters, OLD.joined, OLD.has_unresolved)
            IS DISTINCT FROM
                (NEW.root, NEW.ballots, NEW.voters, NEW.joined, NEW.has_unresolved)
        OR OLD.state <> 'open' AND (OLD.opens_at, OLD.closes_at, OLD.closed_at, OLD.closed_for)
            IS DISTINCT FROM (NEW.opens_at, NEW.closes_at, NEW.closed_at, NEW.closed_for)
        OR OLD.published_at IS NOT NULL AND OLD.published_at IS DISTINCT FROM NEW.published_at
    THEN
        RAISE EXCEPTION 'vote %: its subject, closing and result cannot change', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER guards_vote BEFORE UPDATE ON votes.votes
    FOR EACH ROW EXECUTE FUNCTION votes.guard_vote();

CREATE OR REPLACE FUNCTION votes.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'votes.% does not permit %', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation';
END $$;
CREATE OR REPLACE TRIGGER is_kept BEFORE DELETE OR TRUNCATE ON votes.votes
    FOR EACH STATEMENT EXECUTE FUNCTION votes.refuse_change();
CREATE OR REPLACE TRIGGER is_kept BEFORE DELETE OR TRUNCATE ON votes.options
    FOR EACH STATEMENT EXECUTE FUNCTION votes.refuse_change();
CREATE OR REPLACE TRIGGER is_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON votes.ballots
    FOR EACH STATEMENT EXECUTE FUNCTION votes.refuse_change();
CREATE OR REPLACE TRIGGER is_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON votes.nodes
    FOR EACH STATEMENT EXECUTE FUNCTION votes.refuse_change();

-- Refuses additions to a tree with a known root.
CREATE OR REPLACE FUNCTION votes.guard_tree() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM (SELECT DISTINCT n.vote_id FROM added n) a
        LEFT JOIN votes.votes v ON v.id = a.vote_id
        WHERE v.state IN ('closed', 'review') IS NOT TRUE) THEN
        RAISE EXCEPTION 'votes.% accepts rows only from the count', TG_TABLE_NAME
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER is_written_once
    AFTER INSERT ON votes.ballots REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION votes.guard_tree();
CREATE OR REPLACE TRIGGER is_written_once AFTER INSERT ON votes.nodes REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION votes.guard_tree();

-- Whether nothing is decided about a vote any more, so that an erasure may take its labels away.
CREATE OR REPLACE FUNCTION votes.has_ended(vote bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM votes.votes v WHERE v.id = vote AND votes.is_ended(v.state))
$$;

CREATE OR REPLACE FUNCTION votes.guard_option() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.vote_id, OLD.number) IS DISTINCT FROM (NEW.vote_id, NEW.number)
        OR OLD.label <> NEW.label
            AND NOT (NEW.label = 'Erased ' || NEW.number AND votes.has_ended(NEW.vote_id))
        OR OLD.ballots IS NOT NULL AND OLD.ballots IS DISTINCT FROM NEW.ballots THEN
        RAISE EXCEPTION 'an option of vote %: its label and ballots cannot change', OLD.vote_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER guards_option BEFORE UPDATE ON votes.options
    FOR EACH ROW EXECUTE FUNCTION votes.guard_option();

CREATE OR REPLACE FUNCTION votes.refuse_participant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a participant of vote %: expected a name of 1 to 100 characters in one line '
        'and at most 300 of an address, or neither once erased', NEW.vote_id
        USING ERRCODE = 'check_violation';
END $$;
CREATE OR REPLACE TRIGGER guards_participant
    AFTER INSERT OR UPDATE OF name, name_key, address, is_erased ON votes.participants
    FOR EACH ROW WHEN ((CASE WHEN NEW.is_erased
        THEN NEW.name IS NULL AND NEW.address IS NULL
            -- A digest, until the publication.
            AND (NEW.name_key IS NULL OR NEW.person_id > 0 AND NEW.name_key LIKE '#%')
        ELSE length(NEW.name) BETWEEN 1 AND 100 AND NEW.name !~ '[[:cntrl:]]'
            AND NEW.name_key IS NOT NULL AND coalesce(length(NEW.address) <= 300, true)
        END) IS NOT TRUE)
    EXECUTE FUNCTION votes.refuse_participant();
