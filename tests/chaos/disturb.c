/* Preloaded into a program: its wall clock jumps, and its files are slow. Monotonic clocks stay.
 *
 *   CHAOS_CLOCK_S    every other 50 ms of monotonic time, the wall clock is so many seconds off
 *   CHAOS_SLOW_MS    each write to, and each fsync of, a regular file takes so much longer
 *   CHAOS_LOG        a file to which one byte is added for each disturbance
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static int (*real_gettime)(clockid_t, struct timespec *);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_writev)(int, const struct iovec *, int);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static long jump_s, slow_ms;
static int log_descriptor = -1;

__attribute__((constructor)) static void begin(void) {
    real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    real_write = dlsym(RTLD_NEXT, "write");
    real_writev = dlsym(RTLD_NEXT, "writev");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    const char *jump = getenv("CHAOS_CLOCK_S"), *slow = getenv("CHAOS_SLOW_MS");
    const char *log = getenv("CHAOS_LOG");
    jump_s = jump ? atol(jump) : 0;
    slow_ms = slow ? atol(slow) : 0;
    if (log) {
        int opened = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        /* out of the way of programs that count on low numbers */
        log_descriptor = fcntl(opened, F_DUPFD_CLOEXEC, 900);
        close(opened);
    }
}

static void note(void) {
    if (log_descriptor >= 0 && real_write(log_descriptor, "x", 1) != 1) log_descriptor = -1;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    if (!real_gettime) begin();
    int code = real_gettime(clock, at);
    if (code == 0 && jump_s && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        struct timespec steady;
        real_gettime(CLOCK_MONOTONIC, &steady);
        if (steady.tv_nsec / 50000000 % 2) {
            at->tv_sec += jump_s;
            note();
        }
    }
    return code;
}

int gettimeofday(struct timeval *at, void *zone) {
    (void)zone;
    struct timespec now;
    int code = clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return code;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}

static void wait_for(int descriptor) {
    struct stat kind;
    if (!slow_ms || descriptor == log_descriptor || fstat(descriptor, &kind) != 0 ||
        !S_ISREG(kind.st_mode)) {
        return;
    }
    struct timespec pause = {slow_ms / 1000, slow_ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
    note();
}

ssize_t write(int descriptor, const void *data, size_t size) {
    if (!real_write) begin();
    wait_for(descriptor);
    return real_write(descriptor, data, size);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    if (!real_writev) begin();
    wait_for(descriptor);
    return real_writev(descriptor, parts, count);
}

int fsync(int descriptor) {
    wait_for(descriptor);
    return real_fsync(descriptor);
}

int fdatasync(int descriptor) {
    wait_for(descriptor);
    return real_fdatasync(descriptor);
}
