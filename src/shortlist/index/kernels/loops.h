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

#endif
