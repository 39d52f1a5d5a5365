/* What the compiled loops share. Python loads them with ctypes and passes pointers to arrays of numpy. */
#ifndef SHORTLIST_LOOPS_H
#define SHORTLIST_LOOPS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

static inline int64_t least_of(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t most_of(int64_t a, int64_t b) { return a > b ? a : b; }

/* The hash of `analyzers.term_key`. */
#define BASIS 14695981039346656037u
#define PRIME 1099511628211u

static inline uint64_t add_to_hash(uint64_t hash, const uint8_t *bytes, int64_t start, int64_t end) {
    for (int64_t at = start; at < end; at++)
        hash = (hash ^ bytes[at]) * PRIME;
    return hash;
}

static inline uint64_t spread(uint64_t hash) {
    hash = (hash ^ (hash >> 33)) * 0xFF51AFD7ED558CCDu;
    return hash ^ (hash >> 33);
}

#endif
