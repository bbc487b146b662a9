-- Pupils of a class join a vote and cast their ballots; prints each receipt, which in reality only
-- the pupil's phone has.
\set password 'tableau noir'
SELECT format('SELECT FROM votes.join(%s, %s, %L, %L, %L)', :vote, n, CASE n
        WHEN 7 THEN 'Zoé Tremblay' WHEN 27 THEN 'ZOE  TREMBLAY' ELSE 'Pupil ' || n END,
    10 + n || ', rue Rachel Est', :'password')
FROM generate_series(1, 27) n
\gexec
SELECT format('SELECT receipt FROM votes.cast(%s, %s, ARRAY[%s], %L)', :vote, n,
    1 + n * n % 7 % 3, :'password')
FROM generate_series(1, 27) n
\gexec
