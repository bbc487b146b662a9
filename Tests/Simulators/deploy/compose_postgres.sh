#!/bin/bash
# Does what the entry point of PostgreSQL's image does: the first time it makes the cluster, with
# the files of /docker-entrypoint-initdb.d run in it; then it becomes the server.
set -euo pipefail
password=$(cat "$POSTGRES_PASSWORD_FILE")
sockets=/var/run/postgresql

if [[ ! -s "$PGDATA/PG_VERSION" ]]; then
    chmod 700 "$PGDATA"
    # shellcheck disable=SC2086
    initdb -D "$PGDATA" --username="$POSTGRES_USER" --pwfile=<(echo "$password") --no-sync \
        --auth-local=trust --auth-host=scram-sha-256 ${POSTGRES_INITDB_ARGS:-}
    echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
    # On its socket only, so that nobody takes it for ready.
    pg_ctl -D "$PGDATA" -w -o "-c listen_addresses='' -k $sockets" start
    psql=(psql -v ON_ERROR_STOP=1 -X -q -h "$sockets" -U "$POSTGRES_USER")
    [[ "$POSTGRES_DB" == postgres ]] \
        || "${psql[@]}" -d postgres -c "CREATE DATABASE \"$POSTGRES_DB\""
    for file in /docker-entrypoint-initdb.d/*.sql; do
        "${psql[@]}" -d "$POSTGRES_DB" -f "$file"
    done
    pg_ctl -D "$PGDATA" -m fast -w stop
fi
exec "$@" -c listen_addresses='*' -k "$sockets" -D "$PGDATA"
