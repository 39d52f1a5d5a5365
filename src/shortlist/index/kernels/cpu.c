/* Which of the variants of the loops this processor can run: 0 the plain one, 1 and 2 the faster ones. */
#include "loops.h"

#if defined(__x86_64__) || defined(_M_X64)
#include <cpuid.h>

static bool has_state(uint64_t wanted) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (((uint64_t)high << 32 | low) & wanted) == wanted;
}

EXPORT int cpu_level(void) {
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_FMA) || !has_state(0x6))
        return 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2) || !(b & bit_BMI2))
        return 0;
    uint32_t wide = bit_AVX512F | bit_AVX512BW | bit_AVX512VL | bit_AVX512DQ;
    return (b & wide) == wide && has_state(0xE6) ? 2 : 1;
}
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>

EXPORT int cpu_level(void) { return (getauxval(AT_HWCAP) >> 20) & 1; } /* the dot products of ARMv8.2 */
#elif defined(__aarch64__) && defined(__APPLE__)
EXPORT int cpu_level(void) { return 1; }
#else
EXPORT int cpu_level(void) { return 0; }
#endif

/* A checksum of the sources. */
EXPORT uint32_t compiled_from(void) { return SOURCES; }
