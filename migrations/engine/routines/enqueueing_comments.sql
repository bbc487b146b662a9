-- What the pages of docs/sql say of the functions in enqueueing.sql.

COMMENT ON FUNCTION errand.enqueue(text, jsonb, text, timestamptz, interval, int, int, timestamptz,
    text, text, interval, text, text, text[], int, interval, interval) IS $doc$
Enqueues one job. It exists if and only if the caller's transaction commits, and starts then.

Arguments:
  kind: the kind of job, which its program has opened to apps
  args: the arguments, at most 1 MiB
  queue: that of the kind if it is null; created if it is new
  run_at, delay: the earliest start, as a time or from now; one of them
  priority: 0 critical, 1 high, 2 normal, 3 low; that of the kind, or 2
  max_attempts: attempts until it becomes a dead letter; that of the kind, or 20
  not_after: a job that has not started by then ends as cancelled
  unique_key: while another job holds the key, none is added
  unique_while: waiting (until it starts) or unfinished
  unique_within: the key is held for this interval, with unfinished for the longer of both
  on_duplicate: skip, or replace the arguments of the waiting job
  newest_by: with replace, only if the time in this field of the arguments is later
  tags: labels for listings, at most 100
  args_version: the version of the arguments; that of the kind, or 1
  timeout: the time limit of an attempt; that of the kind
  retention: how long the finished job is kept; that of the kind
Returns:
  id: the job, or the job that holds the key
Reasons:
  too_large: the arguments take more than 1 MiB
Errors:
  22023: an argument is invalid; the text says which
  42501: the kind is not open to apps, or no program has declared it
Repeated: adds another job, unless a unique_key holds: then it returns the job that holds the key.
Sample:
  SELECT errand.enqueue('receipt.send', '{"orderID": 18}', delay => '1 minute',
      unique_key => 'order:18');
$doc$;

COMMENT ON FUNCTION errand.enqueue_jobs(text, text, int, int, int, timestamptz, text[], jsonb,
    jsonb[], timestamptz[], bigint[], text, text, interval, text, text) IS $doc$
Enqueues many jobs of one kind in one call. The Swift client calls it.

Arguments:
  queue, kind, args_version, priority, max_attempts, not_after, tags: as in enqueue, all needed
  options: timeout_ms, retention_s and backoff (base, factor, ceiling, jitter), or null
  args: the arguments of each job
  run_at: the earliest start of each, or null for now
  parents: only for the jobs of a worker
  unique_key, unique_while, unique_within, on_duplicate, newest_by: as in enqueue
Returns:
  job_id: the jobs, in the order of the arguments
  due_at: their earliest start
  outcome: null for a new job, else what became of the duplicate
Reasons:
  too_large: the arguments of a job take more than 1 MiB
Errors:
  22023: an argument is invalid; the text says which
  42501: the kind is not open to apps, or no program has declared it
Repeated: adds more jobs, unless a unique_key holds.
Sample:
  SELECT job_id FROM errand.enqueue_jobs(queue => 'default', kind => 'receipt.send',
      args_version => 1, priority => 2, max_attempts => 20, not_after => NULL, tags => NULL,
      options => '{"timeout_ms": 60000}',
      args => ARRAY['{"orderID": 19}', '{"orderID": 20}']::jsonb[]);
$doc$;

COMMENT ON FUNCTION errand.wake(text, timestamptz, bigint, int) IS $doc$
Notifies the workers of a lane of due jobs. Both functions above call it; a missed call delays the
jobs by a second at most.

Arguments:
  lane: the queue, or the queue and the kind
  due_at: the earliest start of a job, or null for now
  job_id: the job, if it is one
  priority: its priority
Returns:
  nothing: nothing
Repeated: notifies again, which does no harm.
Sample:
  SELECT errand.wake('default');
$doc$;
