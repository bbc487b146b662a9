#pragma once
#include <microhttpd.h>

// Swift cannot call variadic functions: one door with the options that we use. The daemon has one
// thread of its own and takes over the listening socket.
static inline struct MHD_Daemon *errand_http_start(
    int listener, unsigned int connections, unsigned int per_address, unsigned int idle_seconds,
    size_t memory, MHD_AccessHandlerCallback handler, MHD_RequestCompletedCallback completed,
    void *context) {
    return MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME,
        0, NULL, NULL, handler, context,
        MHD_OPTION_LISTEN_SOCKET, listener,
        MHD_OPTION_CONNECTION_LIMIT, connections,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, per_address,
        MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory,
        MHD_OPTION_NOTIFY_COMPLETED, completed, context,
        MHD_OPTION_END);
}

// Sets after how many idle seconds this connection is closed.
static inline void errand_http_set_idle(struct MHD_Connection *connection, unsigned int seconds) {
    MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, seconds);
}
