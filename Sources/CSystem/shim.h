#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

// glibc declares this only under _GNU_SOURCE, which Swift's importer does not define.
extern int pthread_setname_np(pthread_t thread, const char *name);
