/* Reading a page of a mapped file that is gone, because another program has cut the file off or the disk cannot read it,
   ends the process with SIGBUS. For the mappings that are guarded, it reads zeros instead, and is counted.

   Windows refuses to cut off a file that is mapped. */
#if !defined(_WIN32)
#define _DEFAULT_SOURCE
#define _DARWIN_C_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#endif
#include "loops.h"

#if defined(_WIN32)
EXPORT int64_t guard_mapping(const void *memory, int64_t size) {
    (void)memory, (void)size;
    return 0;
}
EXPORT void release_mapping(int64_t guard) { (void)guard; }
EXPORT int64_t count_faults(void) { return 0; }
#else
enum { MOST_MAPPINGS = 4096 };

/* A start of 0 is free. The ends are written before the starts: the handler may run at any time. */
static uintptr_t starts[MOST_MAPPINGS], ends[MOST_MAPPINGS];
static int64_t faults;
static struct sigaction before;

/* Replace what is left of the mapping by zeros: after a missing page, all others are missing. */
static bool fill(uintptr_t at) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int64_t guard = 0; guard < MOST_MAPPINGS; guard++) {
        uintptr_t start = __atomic_load_n(starts + guard, __ATOMIC_ACQUIRE), end = ends[guard];
        if (!start || at < start || at >= end)
            continue;
        void *first = (void *)(at & ~(page - 1));
        size_t size = end - (uintptr_t)first;
        __atomic_add_fetch(&faults, 1, __ATOMIC_SEQ_CST);
        return mmap(first, size, PROT_READ, MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1, 0) == first;
    }
    return false;
}

static void handle(int number, siginfo_t *info, void *context) {
    static int64_t passed_on;
    int error = errno;
    if (info->si_code <= 0 || !fill((uintptr_t)info->si_addr)) { /* another process sent it, or it is not ours */
        bool is_first = !__atomic_fetch_add(&passed_on, 1, __ATOMIC_SEQ_CST);
        if (is_first && before.sa_flags & SA_SIGINFO)
            before.sa_sigaction(number, info, context);
        else if (is_first && before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
            before.sa_handler(number);
        else
            signal(number, SIG_DFL); /* the instruction is repeated, and ends the process */
    }
    errno = error;
}

/* Install the handler, again if another one has replaced it. */
static bool install(void) {
    struct sigaction now, ours = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (sigaction(SIGBUS, NULL, &now))
        return false;
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == handle)
        return true;
    before = now;
    sigemptyset(&ours.sa_mask);
    return !sigaction(SIGBUS, &ours, NULL);
}

/* The number of a guard, or -1 if there can be none. */
EXPORT int64_t guard_mapping(const void *memory, int64_t size) {
    if (!install())
        return -1;
    for (int64_t guard = 0; guard < MOST_MAPPINGS; guard++) {
        uintptr_t none = 0, claimed = UINTPTR_MAX; /* no address is as high */
        if (!__atomic_compare_exchange_n(starts + guard, &none, claimed, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            continue;
        ends[guard] = (uintptr_t)memory + (uintptr_t)size;
        __atomic_store_n(starts + guard, (uintptr_t)memory, __ATOMIC_RELEASE);
        return guard;
    }
    return -1;
}

EXPORT void release_mapping(int64_t guard) { __atomic_store_n(starts + guard, 0, __ATOMIC_RELEASE); }

EXPORT int64_t count_faults(void) { return __atomic_load_n(&faults, __ATOMIC_SEQ_CST); }
#endif
