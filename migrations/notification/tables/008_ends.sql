-- Mails whose jobs were cancelled, notices that end late, and the addresses of blocked people.

-- As before, with the jobs of direct mails.
DROP INDEX errand.finished_jobs_notices;
CREATE INDEX finished_jobs_notices ON errand.finished_jobs (finished_at)
    WHERE outcome = 'cancelled' AND reason !~ '^(failed|expired|withdrawn): '
      AND kind IN ('notification.decide', 'notification.email', 'notification.push',
          'notification.direct_mail');

-- The notices that notification.progress has passed while they kept their facts: they had not
-- ended, or are younger than notices with higher ids. Few, and looked at again by each run.
CREATE TABLE notification.unbared (
    notice_id bigint PRIMARY KEY
);

-- The few addresses to which notification.mail_to() sends nothing.
CREATE INDEX people_blocked_address ON people.people (lower(email))
    WHERE blocked_at IS NOT NULL AND email IS NOT NULL;

-- With other arguments, it is created again.
DROP FUNCTION IF EXISTS notification.forget_names(bigint[], text[]);
