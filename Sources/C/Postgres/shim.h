#pragma once
#include <libpq-fe.h>
#include <poll.h>

// Notices are not errors and there is nobody to read them; libpq would print them.
static inline void errand_ignore_notice(void *context, const PGresult *result) {
    (void)context;
    (void)result;
}
static inline void errand_ignore_notices(PGconn *connection) {
    PQsetNoticeReceiver(connection, errand_ignore_notice, 0);
}
