#pragma once
#include <hiredis/hiredis.h>
#include <sys/socket.h>
#include <sys/time.h>

// An array inside a struct is a tuple in Swift; this is its text.
static inline const char *errand_redis_error(const redisContext *context) {
    return context->errstr;
}
