"""Reports of a month for many establishments: the time until all are made, and the memory."""
import os
import pathlib
import subprocess
import time

from measure import Failed
from report import Figure

QUESTIONS = 6
# Half of the answers' people agreed to sharing; each establishment has five branches.
FILL = (
    """
    INSERT INTO people.people (id, birth_date)
    SELECT n, date '1950-01-01' + n % 18000 FROM generate_series(1, {people}) n
    """,
    """
    INSERT INTO people.consents (person_id, what, version, given_at)
    SELECT n, 'sharing', '1', now() - interval '1 year' FROM generate_series(1, {people}, 2) n
    """,
    """
    INSERT INTO establishments.establishments (id, name)
    SELECT n, 'Shop ' || n FROM generate_series(1, {shops}) n;
    INSERT INTO establishments.branches (id, establishment_id, name, place)
    SELECT 5 * n + k, n, 'Branch ' || k, 'POINT(-73.5 45.5)'
    FROM generate_series(1, {shops}) n, generate_series(0, 4) k;
    INSERT INTO surveys.surveys (id, establishment_id)
    SELECT n, n FROM generate_series(1, {shops}) n;
    INSERT INTO surveys.versions (survey_id, version, title, minutes, expires_days, paid, cut,
        currency)
    SELECT n, 1, 'How was it?', 2, 14, 500, 300, 'CAD' FROM generate_series(1, {shops}) n;
    INSERT INTO surveys.questions (survey_id, version, number, kind, label, options, is_required)
    SELECT n, 1, q.number, q.kind::surveys.question_kind, q.label, q.options, true
    FROM generate_series(1, {shops}) n, (VALUES
        (1, 'rating', 'Service', NULL), (2, 'rating', 'Food', NULL),
        (3, 'choice', 'Why?', '{{near,good,cheap}}'::text[]),
        (4, 'many', 'What?', '{{coffee,cake,lunch}}'), (5, 'yes_no', 'Again?', NULL),
        (6, 'text', 'What else?', NULL)) AS q (number, kind, label, options);
    INSERT INTO reports.settings (establishment_id, time_zone, since)
    SELECT n, 'America/Toronto', now() - interval '1 year' FROM generate_series(1, {shops}) n;
    """,
    """
    SET session_replication_role = replica;
    INSERT INTO surveys.invitations (survey_id, version, establishment_id, branch_id, person_id,
        source, request_id, purchased_at, invited_at, expires_at, state, ended_at)
    SELECT s, 1, s, 5 * s + n / {shops} % 5, 1 + n % {people}, 'receipt', 'q' || n, at, at,
        at + interval '14 days', 'completed', at + interval '1 hour'
    FROM generate_series(1, {count}) n, LATERAL (SELECT 1 + n % {shops} AS s,
        date_trunc('month', now()) - interval '1 day' - n % 28 * interval '1 day' AS at) x;
    INSERT INTO surveys.completions (invitation_id, survey_id, version, establishment_id,
        branch_id, person_id, completed_at, seconds_spent, request_id, answers)
    SELECT i.id, i.survey_id, 1, i.establishment_id, i.branch_id, i.person_id, i.ended_at,
        60 + i.id % 90, 'c' || i.id, jsonb_build_object('1', 1 + i.id % 5, '2', 1 + i.id % 4,
            '3', 1 + i.id % 3, '4', jsonb_build_array(1 + i.id % 3), '5', i.id % 2 = 0,
            '6', 'More chairs by the window, and music that is less loud: ' || i.id % 100)
    FROM surveys.invitations i;
    """,
)
OPEN = """
    SELECT count(errand.enqueue_own('reports.make', jsonb_build_object('report_id',
        reports.open_report(s.establishment_id, 'monthly',
            to_char(now() - interval '1 month', 'YYYY-MM'), now()))))
    FROM reports.settings s
    """


def reports(place, ours, _peers):
    """Made by one worker that drains the queue, with the concurrency of its default."""
    shops = place.size(500, 10_000)
    answers = place.size(250_000, 5_000_000)
    count = answers // QUESTIONS
    folder = pathlib.Path(place.file("reports"))
    folder.mkdir(mode=0o700, exist_ok=True)
    env = {**ours.fresh("bench_reports"), "ERRAND_REPORTS_DIR": str(folder), "ERRAND_LOG": "error"}
    sql = place.servers.sql
    for text in FILL:
        sql(text.format(shops=shops, people=min(count, 200_000), count=count), "bench_reports")
    sql("VACUUM ANALYZE", "bench_reports")
    place.servers.settle()
    sql(OPEN, "bench_reports")
    begun = time.monotonic()
    with subprocess.Popen([place.errand, "work", "--drain", "--queues", "reports"],
                          env={**os.environ, **env}, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - begun
    made = int(sql("SELECT count(*) FROM reports.reports WHERE revision > 0", "bench_reports"))
    files = sum(1 for path in folder.rglob("*.pdf"))
    if process.returncode or made != shops or files < shops:
        raise Failed(f"exit {process.returncode}: {made} of {shops} reports, {files} PDFs")
    samples = f"{shops:,} establishments, {answers:,} answers"
    return [
        Figure("a month's reports", "s", seconds, None, None, ("max", 300), samples),
        Figure("memory of the worker", "MiB", usage.ru_maxrss / 1024, None, None, ("max", 200),
               samples),
    ]
