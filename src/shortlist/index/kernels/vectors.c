/* Exact nearest neighbors: bytes bound every product, and only vectors that may be among the nearest are compared. */
#include "signs.h"

enum { STEPS = 127 }; /* on each side of zero */

/* More than the rounding errors of single-precision sums, as a share of the lengths. */
#define SLACK 1e-5f

/* Vectors with the highest estimates that are compared first, for each that is wanted. */
enum { FIRST_FOR_EACH = 4 };

/* Vectors in bytes; for each the value of a step, how far it was moved at most, and its length as rounded. */
EXPORT void round_vectors(const float *vectors, int64_t count, int64_t size, int8_t *codes, float *facts) {
    for (int64_t place = 0; place < count; place++, vectors += size, codes += size, facts += 3) {
        float largest = 0;
        for (int64_t at = 0; at < size; at++) {
            float absolute = fabsf(vectors[at]);
            largest = absolute > largest ? absolute : largest;
        }
        float step = largest / STEPS;
        if (step == 0)
            step = 1;
        double moved = 0, length = 0;
        for (int64_t at = 0; at < size; at++) {
            float code = rintf(vectors[at] / step);
            codes[at] = (int8_t)code;
            double rounded = code * step, rest = vectors[at] - code * step;
            length += rounded * rounded;
            moved += rest * rest;
        }
        length = sqrt(length);
        facts[0] = step;
        facts[1] = (float)(sqrt(moved) + SLACK * length);
        facts[2] = (float)length;
    }
}

/* The query has 16 bits for each number: processors multiply and add pairs of these in one step. */
static inline int32_t multiply_bytes(const int8_t *restrict one, const int16_t *restrict two, int64_t size) {
    int32_t total = 0;
    for (int64_t at = 0; at < size; at++)
        total += (int16_t)one[at] * two[at];
    return total;
}

/* The sum is split in the same way for every vector, so equal vectors have equal products. */
static float multiply(const float *restrict one, const float *restrict two, int64_t size) {
    enum { LANES = 16 };
    float lanes[LANES] = {0}, rest = 0;
    int64_t at = 0;
    for (; at + LANES <= size; at += LANES)
        for (int lane = 0; lane < LANES; lane++)
            lanes[lane] += one[at + lane] * two[at + lane];
    for (; at < size; at++)
        rest += one[at] * two[at];
    for (int half = LANES / 2; half; half /= 2)
        for (int lane = 0; lane < half; lane++)
            lanes[lane] += lanes[lane + half];
    return lanes[0] + rest;
}

/* The product of every vector with the query. */
EXPORT void multiply_all(const float *vectors, int64_t count, int64_t size, const float *query, double *products) {
    for (int64_t place = 0; place < count; place++)
        products[place] = multiply(vectors + place * size, query, size);
}

static void push(float *heap, int64_t size, float score) {
    int64_t parent = 0, child = 1;
    while (child < size) {
        if (child + 1 < size && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= score)
            break;
        heap[parent] = heap[child];
        parent = child;
        child = 2 * child + 1;
    }
    heap[parent] = score;
}

typedef struct {
    float most;
    uint32_t place;
} Bounded;

/* Highest bound first, then by place. */
static int compare_bounded(const void *first, const void *second) {
    const Bounded *one = first, *two = second;
    if (one->most != two->most)
        return one->most > two->most ? -1 : 1;
    return one->place < two->place ? -1 : one->place > two->place;
}

/* The least of the `wanted` highest of some numbers. */
static float find_least(const float *numbers, int64_t count, int64_t wanted) {
    float *best = malloc(wanted * sizeof *best);
    for (int64_t number = 0; number < wanted; number++)
        best[number] = -INFINITY;
    for (int64_t place = 0; place < count; place++)
        if (numbers[place] > best[0])
            push(best, wanted, numbers[place]);
    float least = best[0];
    free(best);
    return least;
}

/* Write places that include the k nearest and all that tie with the last, and their exact products; their number.

   Both sides were rounded: by the Cauchy-Schwarz inequality a product differs by at most the distance that one was
   moved times the length of the other. With `added`, the nearest are those with the highest sum of their number there
   and `factor` times the product, and the one with the highest product and its ties are included, too. `places` and
   `scores` have room for all vectors.

   With `signs`, for which `peaks` are the highest estimates of each block, a vector is passed over if its estimate
   is below what k others reach for certain; those with the highest estimates come first. */
EXPORT int64_t nearest(const int8_t *codes, const float *facts, const float *vectors, int64_t count, int64_t size,
                       const float *query, int64_t k, const uint8_t *allowed, const double *added, double factor,
                       const uint8_t *signs, const float *factors, const float *peaks, int64_t *places,
                       double *scores) {
    int8_t *rounded = malloc(size);
    int16_t *query_codes = malloc(size * sizeof *query_codes);
    float asked[3];
    round_vectors(query, 1, size, rounded, asked);
    for (int64_t at = 0; at < size; at++)
        query_codes[at] = rounded[at];
    float step = asked[0], moved = asked[1], length = asked[1] + asked[2];
    float *best = malloc(k * sizeof *best);
    Bounded *bounded = malloc(count * sizeof *bounded);
    for (int64_t number = 0; number < k; number++)
        best[number] = -3.4e38f;
    float nearest_one = -3.4e38f; /* a product that the highest one reaches */
    int64_t found = 0;
    TabulatedQuery tabulated = {0};
    float highest = 0, likely[SIGN_BLOCK];
    if (signs) {
        tabulated = tabulate_query(query, size);
        highest = find_least(peaks, (count + SIGN_BLOCK - 1) / SIGN_BLOCK, FIRST_FOR_EACH * k);
    }
    for (int pass = signs ? 0 : 1; pass < 2; pass++)
        for (int64_t start = 0; start < count; start += SIGN_BLOCK) {
            int64_t end = least_of(count, start + SIGN_BLOCK);
            if (signs) {
                if (peaks[start / SIGN_BLOCK] < (pass ? best[0] : highest))
                    continue;
                estimate_block(signs, factors, start, end, size, &tabulated, allowed, likely);
            }
            for (int64_t place = start; place < end; place++) {
                if (allowed && !allowed[place])
                    continue;
                if (signs && (likely[place - start] < best[0] || (likely[place - start] < highest) != pass))
                    continue;
                const float *fact = facts + 3 * place;
                float product = (float)multiply_bytes(codes + place * size, query_codes, size) * fact[0] * step;
                float room = length * fact[1] + moved * fact[2];
                bool is_near = added && product + room >= nearest_one;
                if (is_near && product - room > nearest_one)
                    nearest_one = product - room;
                if (added) {
                    product = (float)(added[place] + factor * product);
                    room = (float)(factor * room + SLACK * fabs(added[place]));
                }
                /* Also if it is not a number, which has no place in an order. */
                if (!is_near && !(product + room >= best[0]))
                    continue;
                bounded[found++] = (Bounded){is_near ? INFINITY : product + room, (uint32_t)place};
                if (product - room > best[0])
                    push(best, k, product - room);
            }
        }
    free(tabulated.tables);
    int64_t kept = 0;
    for (int64_t number = 0; number < found; number++)
        if (bounded[number].most >= best[0])
            bounded[kept++] = bounded[number];
    qsort(bounded, kept, sizeof *bounded, compare_bounded);
    for (int64_t number = 0; number < k; number++)
        best[number] = -INFINITY;
    int64_t written = 0;
    for (; written < kept && bounded[written].most >= best[0]; written++) {
        float score = multiply(vectors + (int64_t)bounded[written].place * size, query, size);
        places[written] = bounded[written].place;
        scores[written] = score;
        if (added)
            score = (float)(added[bounded[written].place] + factor * score);
        if (score > best[0])
            push(best, k, score);
    }
    free(rounded);
    free(query_codes);
    free(best);
    free(bounded);
    return written;
}
