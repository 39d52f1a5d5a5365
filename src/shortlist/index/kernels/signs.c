/* Signs of vectors: one bit for each dimension after a rotation, from which products are estimated.

   After a random rotation, the signs of a vector and one factor estimate its product with a query without bias (RaBitQ,
   Gao and Long 2024). Bits are stored in blocks of 64 vectors, byte by byte, so that one instruction looks up the
   sums of four dimensions for many vectors at once. */
#include "signs.h"

#include <float.h>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

enum { BLOCK = SIGN_BLOCK, ROUNDS = 2, TOGETHER = 16, HIGHEST = 127 };

enum { AHEAD = 2048 }; /* bytes: reading them from memory takes 0.7 of the time */

/* Standard deviations of an estimate: about 99 of 100 vectors that are among the nearest remain candidates. */
#define DEVIATIONS 2.25

/* The standard deviation of a sum of signs times numbers of length 1, as a share of the factor: sqrt(1 - 2 / pi). */
#define SPREAD 0.6028

#if defined(__AVX512BW__)
enum { LANES = 64 };
#elif defined(__AVX2__)
enum { LANES = 32 };
#else
enum { LANES = 16 };
#endif
typedef uint8_t Bytes __attribute__((vector_size(LANES)));
typedef uint16_t Words __attribute__((vector_size(LANES)));

/* For each byte, the entry of a table of 16; the table is repeated in each 16 bytes. */
static inline Bytes look_up(Bytes table, Bytes entries) {
#if defined(__AVX512BW__)
    return (Bytes)_mm512_shuffle_epi8((__m512i)table, (__m512i)entries);
#elif defined(__AVX2__)
    return (Bytes)_mm256_shuffle_epi8((__m256i)table, (__m256i)entries);
#elif defined(__aarch64__)
    return (Bytes)vqtbl1q_u8((uint8x16_t)table, (uint8x16_t)entries);
#else
    Bytes found;
    for (int lane = 0; lane < LANES; lane++)
        found[lane] = table[entries[lane]];
    return found;
#endif
}

typedef float Column[TOGETHER]; /* one dimension of some vectors */

/* The fast Walsh-Hadamard transform, without its factor. */
static void transform(Column *columns, int64_t size) {
    for (int64_t half = 1; half < size; half *= 2)
        for (int64_t start = 0; start < size; start += 2 * half)
            for (int64_t at = start; at < start + half; at++)
                for (int lane = 0; lane < TOGETHER; lane++) {
                    float one = columns[at][lane], two = columns[at + half][lane];
                    columns[at][lane] = one + two;
                    columns[at + half][lane] = one - two;
                }
}

/* Rotate vectors: change some signs and mix a power of two of the first dimensions and as many of the last, twice. */
static void rotate(Column *columns, int64_t size) {
    int64_t power = 1;
    while (2 * power <= size)
        power *= 2;
    float scale = 1 / sqrtf((float)power);
    for (int64_t round = 0; round < ROUNDS; round++) {
        for (int64_t at = 0; at < size; at++)
            for (int lane = 0; lane < TOGETHER; lane++)
                columns[at][lane] *= spread(spread(BASIS + round * size + at)) & 1 ? -1 : 1;
        for (int64_t start = 0;; start = size - power) {
            transform(columns + start, power);
            for (int64_t at = start; at < start + power; at++)
                for (int lane = 0; lane < TOGETHER; lane++)
                    columns[at][lane] *= scale;
            if (start == size - power)
                break;
        }
    }
}

static inline int64_t count_bytes(int64_t size) { return (size + 7) / 8; }

/* Copy up to TOGETHER vectors into columns, with zeros for what is missing, and rotate them. */
static void rotate_some(const float *vectors, int64_t count, int64_t size, Column *columns) {
    memset(columns, 0, 8 * count_bytes(size) * sizeof *columns);
    for (int64_t lane = 0; lane < count; lane++)
        for (int64_t at = 0; at < size; at++)
            columns[at][lane] = vectors[lane * size + at];
    rotate(columns, 8 * count_bytes(size));
}

/* Write the bits of vectors, which start as zeros, and for each the factor of its estimates. */
EXPORT void take_signs(const float *vectors, int64_t count, int64_t size, uint8_t *signs, float *factors) {
    int64_t bytes = count_bytes(size);
    Column *columns = malloc(8 * bytes * sizeof *columns);
    for (int64_t first = 0; first < count; first += TOGETHER) {
        int64_t here = least_of(count - first, TOGETHER);
        rotate_some(vectors + first * size, here, size, columns);
        uint8_t *block = signs + first / BLOCK * BLOCK * bytes + first % BLOCK;
        double squares[TOGETHER] = {0}, sums[TOGETHER] = {0};
        for (int64_t at = 0; at < 8 * bytes; at++)
            for (int lane = 0; lane < TOGETHER; lane++) {
                float number = columns[at][lane];
                squares[lane] += (double)number * number;
                sums[lane] += fabsf(number);
                block[at / 8 * BLOCK + lane] |= (number > 0) << at % 8;
            }
        for (int64_t lane = 0; lane < here; lane++) {
            float factor = sums[lane] > 0 ? (float)(squares[lane] / sums[lane]) : 0;
            factors[first + lane] = isfinite(factor) ? factor : 0;
        }
    }
    free(columns);
}

TabulatedQuery tabulate_query(const float *query, int64_t size) {
    int64_t groups = 2 * count_bytes(size);
    Column *columns = malloc(4 * groups * sizeof *columns);
    TabulatedQuery tabulated = {calloc(groups * LANES, 1), 0, 0};
    rotate_some(query, 1, size, columns);
    double widest = 0, squares = 0, least = 0;
    for (int64_t group = 0; group < groups; group++) {
        double half = 0;
        for (int64_t at = 4 * group; at < 4 * group + 4; at++) {
            half += fabsf(columns[at][0]);
            squares += (double)columns[at][0] * columns[at][0];
        }
        least -= half;
        widest = 2 * half > widest ? 2 * half : widest;
    }
    double base = least + DEVIATIONS * SPREAD * sqrt(squares);
    tabulated.base = isfinite((float)base) ? (float)base : FLT_MAX; /* then no vector is passed over */
    int64_t highest = least_of(HIGHEST, UINT16_MAX / groups); /* their sum fits into 16 bits */
    double step = widest / highest;
    for (int64_t group = 0; group < groups && step > 0 && tabulated.base < FLT_MAX; group++)
        for (int bits = 0; bits < 16; bits++) {
            double sum = 0;
            for (int at = 0; at < 4; at++) {
                float number = columns[4 * group + at][0];
                sum += fabsf(number) + (bits >> at & 1 ? number : -number);
            }
            for (int lane = bits; lane < LANES; lane += 16)
                tabulated.tables[group * LANES + lane] = (uint8_t)rint(sum / step);
        }
    tabulated.step = tabulated.base < FLT_MAX ? (float)step : 0;
    free(columns);
    return tabulated;
}

/* The sums of a query for the vectors of a block. */
static void add_up(const uint8_t *block, int64_t bytes, const uint8_t *tables, uint16_t *totals) {
    for (int64_t first = 0; first < BLOCK; first += LANES) {
        Words even = {0}, odd = {0};
        for (int64_t at = 0; at < bytes; at++) {
            Bytes bits, low, high;
            __builtin_prefetch(block + at * BLOCK + first + AHEAD);
            memcpy(&bits, block + at * BLOCK + first, LANES);
            memcpy(&low, tables + 2 * at * LANES, LANES);
            memcpy(&high, tables + (2 * at + 1) * LANES, LANES);
            Words both = (Words)(look_up(low, bits & 15) + look_up(high, bits >> 4));
            even += both & 255;
            odd += both >> 8;
        }
        for (int64_t lane = 0; lane < LANES / 2; lane++) {
            totals[first + 2 * lane] = even[lane];
            totals[first + 2 * lane + 1] = odd[lane];
        }
    }
}

float estimate_block(const uint8_t *signs, const float *restrict factors, int64_t start, int64_t end, int64_t size,
                     const TabulatedQuery *query, const uint8_t *restrict allowed, float *restrict likely) {
    if (allowed && !memchr(allowed + start, 1, end - start))
        return -INFINITY;
    uint16_t totals[BLOCK];
    int64_t bytes = count_bytes(size);
    add_up(signs + start * bytes, bytes, query->tables, totals);
    for (int64_t lane = 0; lane < end - start; lane++)
        likely[lane] = factors[start + lane] * (totals[lane] * query->step + query->base);
    for (int64_t lane = end - start; lane < BLOCK; lane++)
        likely[lane] = -INFINITY;
    if (allowed)
        for (int64_t lane = 0; lane < end - start; lane++)
            likely[lane] = allowed[start + lane] ? likely[lane] : -INFINITY;
    float peaks[TOGETHER];
    memcpy(peaks, likely, sizeof peaks);
    for (int64_t first = TOGETHER; first < BLOCK; first += TOGETHER)
        for (int lane = 0; lane < TOGETHER; lane++)
            peaks[lane] = likely[first + lane] > peaks[lane] ? likely[first + lane] : peaks[lane];
    for (int half = TOGETHER / 2; half; half /= 2)
        for (int lane = 0; lane < half; lane++)
            peaks[lane] = peaks[lane + half] > peaks[lane] ? peaks[lane + half] : peaks[lane];
    return peaks[0];
}

/* Write the highest estimate in each block from `first` to `end`. */
EXPORT void find_peaks(const uint8_t *signs, const float *factors, int64_t first, int64_t end, int64_t size,
                       const float *query, const uint8_t *allowed, float *peaks) {
    TabulatedQuery tabulated = tabulate_query(query, size);
    float likely[BLOCK];
    for (int64_t start = first; start < end; start += BLOCK)
        peaks[start / BLOCK] =
            estimate_block(signs, factors, start, least_of(end, start + BLOCK), size, &tabulated, allowed, likely);
    free(tabulated.tables);
}
