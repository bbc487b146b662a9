#pragma once
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

// glibc declares these only under _GNU_SOURCE, which Swift's importer does not define.
extern int pthread_setname_np(pthread_t thread, const char *name);
// Its first argument is a posix_spawn_file_actions_t; spawn.h itself would bring another fd_set.
extern int posix_spawn_file_actions_addclosefrom_np(void *actions, int from);
