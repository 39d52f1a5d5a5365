/* Ranking by shared terms. Scores are those of formulas.py, to the last bit: a sum is in the order of the terms.

   A part may be mapped from a file that changes on disk, so its numbers are not trusted: only the sizes of its arrays
   are. Whatever it contains, a loop reads and writes inside of these arrays; what points out of them is left out. */
#include "loops.h"

/* Bounds are stored for each block of 16 passages of a frequent term, places for each stretch of 64. */
enum { BLOCK_BITS = 4, BLOCK = 1 << BLOCK_BITS, STRETCH_BITS = 6, STRETCH = 1 << STRETCH_BITS };
enum { BUCKETS = 16 };
enum { BATCH = 32 }; /* blocks read at a time; of 290,000 passages 8 take 0.30 ms a query, 16 to 128 take 0.27 */
enum { AHEAD = 16 }; /* postings whose sums are fetched early; a query takes 3% longer without, 8 and 32 are as fast */
enum { RUN = 32 };   /* bounds compared at a time, 64 bytes; 16 and 64 are as fast */
#define SHARES (1 << 18) /* the weight of all terms in the coarse sums, so that those of a block are less than 2**31 */
#define COARSER 11       /* bounds and sums of rare terms lack these last bits, and are rounded up: they have 16 bits */
#define LINE 64          /* bytes of a line of the cache */

/* One segment as a snapshot sees it: postings, what is deleted, bounds, and the numbers of the formula. */
typedef struct {
    const uint64_t *keys;
    const int64_t *starts;
    const int32_t *docs;
    const uint8_t *counts;        /* packed counts of each posting; 0: see large_counts */
    const int64_t *large_places;  /* postings whose counts do not fit in a byte, in order */
    const uint32_t *large_counts;
    const int32_t *lengths;       /* passages x 3 fields */
    const uint8_t *dead;          /* NULL: nothing is deleted */
    const int64_t *dead_places;
    const uint8_t *impacts;       /* NULL: there are no bounds */
    const int64_t *frequent;
    const uint8_t *maxima;        /* frequent terms x blocks */
    const uint32_t *skips;        /* frequent terms x stretches, and an end */
    const uint16_t *packed;
    const double *vector_lengths; /* for cosine only */
    const uint64_t *name_keys;
    const int32_t *name_docs;
    const uint64_t *name_filter; /* a bit for each range of keys, set if a name has one; NULL: there is none */
    int64_t name_shift;
    int64_t terms, postings, names, size, offset, larges, deads, frequents, blocks, stretches, packings;
    double weights[3];
    double base, scale, k1, delta, step, drift;
    int64_t gain;
} Part;

/* Where the terms of a query are in one part. */
typedef struct {
    int64_t place, start, end;
} Span;

/* `covered` is the sum of the shares of those terms that the passage has, `shared` its score with shares as weights. */
typedef struct {
    double score;
    int64_t place;
    double covered;
    double shared;
} Scored;

/* Memory that a query works in: for each passage the sum of its rare terms (all 0 between queries), and what was found;
   for each block a bound, blocks to read and blocks in order. */
typedef struct {
    uint16_t *sums;
    Scored *scored;
    uint32_t *live, *blocks;
    int32_t *most;
    uint32_t *places;
    uint16_t *bounds;
} Room;

static int64_t count_blocks(int64_t size) { return (size >> BLOCK_BITS) + 1; }

/* The bytes of a room for parts of up to `size` passages. */
EXPORT int64_t room_bytes(int64_t size) {
    return LINE + count_blocks(size) * (2 + 2 * 4 + BLOCK * ((int64_t)sizeof(Scored) + 2 + 2 * 4));
}

static Room divide(void *memory, int64_t size) {
    int64_t blocks = count_blocks(size), passages = blocks * BLOCK;
    Room room;
    room.sums = (uint16_t *)(((uintptr_t)memory + LINE - 1) & ~(uintptr_t)(LINE - 1)); /* no block in two lines */
    room.scored = (Scored *)(room.sums + passages);
    room.live = (uint32_t *)(room.scored + passages);
    room.blocks = room.live + blocks;
    room.most = (int32_t *)(room.blocks + blocks);
    room.places = (uint32_t *)(room.most + passages);
    room.bounds = (uint16_t *)(room.places + passages);
    return room;
}

EXPORT void clear_room(void *memory, int64_t size) {
    memset(divide(memory, size).sums, 0, count_blocks(size) * BLOCK * sizeof(uint16_t));
}

/* Whether a part has a passage with this number. */
static inline bool is_inside(const Part *part, int64_t doc) { return (uint64_t)doc < (uint64_t)part->size; }

/* The postings of a term; none if they are not inside of the part. */
static inline Span find_span(const Part *part, int64_t place) {
    int64_t start = part->starts[place], end = part->starts[place + 1];
    bool is_sound = start >= 0 && start <= end && end <= part->postings;
    return (Span){place, is_sound ? start : 0, is_sound ? end : 0};
}

/* Where doc is, or would be, in docs[start:end]. */
static int64_t find_doc(const int32_t *docs, int64_t start, int64_t end, int64_t doc) {
    while (start < end) {
        int64_t middle = (start + end) >> 1;
        if (docs[middle] < doc)
            start = middle + 1;
        else
            end = middle;
    }
    return start;
}

static int64_t find_place(const int64_t *places, int64_t end, int64_t place) {
    int64_t start = 0;
    while (start < end) {
        int64_t middle = (start + end) >> 1;
        if (places[middle] < place)
            start = middle + 1;
        else
            end = middle;
    }
    return start;
}

/* Where a key is, or would be. Keys are hashes, so a key's size tells about where it is: the error of a first guess is
   some hundred places, of a second one some ten. */
static int64_t find_key(const uint64_t *keys, int64_t count, uint64_t key) {
    if (!count)
        return 0;
    int64_t start = 0, end = count, guess = (int64_t)((unsigned __int128)key * (uint64_t)count >> 64);
    guess += (int64_t)((__int128)((__int128)key - keys[guess]) * count >> 64);
    guess = guess < 0 ? 0 : least_of(guess, count - 1);
    for (int64_t step = 16; start < end; step *= 4) {
        if (keys[guess] < key) {
            start = guess + 1;
            guess += step;
            if (guess >= end)
                break;
        } else {
            end = guess;
            guess -= step;
            if (guess < start)
                break;
        }
    }
    while (start < end) {
        int64_t middle = (start + end) >> 1;
        if (keys[middle] < key)
            start = middle + 1;
        else
            end = middle;
    }
    return start;
}

/* The weighted counts of a posting. A byte has 2 bits for the title, 2 for the keywords, 4 for the content. */
static inline double weighted_count(const Part *part, int64_t at) {
    const double *weights = part->weights;
    uint32_t code = part->counts[at];
    if (code)
        return weights[0] * (code >> 6) + weights[1] * ((code >> 4) & 3) + weights[2] * (code & 15);
    int64_t large = find_place(part->large_places, part->larges, at);
    uint32_t count = large < part->larges ? part->large_counts[large] : 0;
    return weights[0] * (count >> 24) + weights[1] * ((count >> 16) & 0xFF) + weights[2] * (count & 0xFFFF);
}

/* The gain of a posting, 0 if the fields that have the term have no weight. */
static inline double gain_of(const Part *part, int64_t at, int64_t doc) {
    double tf = weighted_count(part, at);
    if (tf == 0.0)
        return 0.0;
    if (part->gain == 3)
        return tf / part->vector_lengths[doc];
    const int32_t *lengths = part->lengths + 3 * doc;
    double length = part->weights[0] * lengths[0] + part->weights[1] * lengths[1] + part->weights[2] * lengths[2];
    double norm = part->base + part->scale * length;
    if (part->gain == 0)
        return tf / (tf + part->k1 * norm);
    if (part->gain == 1)
        return part->delta + (part->k1 + 1.0) * tf / (tf + part->k1 * norm);
    double c = tf / norm + part->delta;
    return (part->k1 + 1.0) * c / (part->k1 + c);
}

/* Each posting's gain as a number from 1 to 255, rounded up; 255 is the ceiling. */
EXPORT void quantize(const Part *part, double ceiling, uint8_t *impacts) {
    for (int64_t at = 0; at < part->postings; at++) {
        double share = is_inside(part, part->docs[at]) ? ceil(gain_of(part, at, part->docs[at]) / ceiling * 255.0) : 0;
        impacts[at] = share > 255.0 ? 255 : share > 0.0 ? (uint8_t)share : 0;
    }
}

/* For each frequent term: its largest impact in each block (zero before), where each stretch begins, and its postings
   packed as the passage's place in its stretch and the impact, a byte each. `packings` is the room for these. */
EXPORT void tabulate(const Part *part, const uint8_t *impacts, const int64_t *frequent, int64_t frequents,
                     uint8_t *maxima, uint32_t *skips, uint16_t *packed, int64_t packings) {
    int64_t blocks = (part->size + BLOCK - 1) >> BLOCK_BITS;
    int64_t stretches = ((part->size + STRETCH - 1) >> STRETCH_BITS) + 1;
    uint32_t written = 0;
    for (int64_t row = 0; row < frequents; row++, maxima += blocks, skips += stretches) {
        int64_t begun = 0;
        Span span = find_span(part, frequent[row]);
        for (int64_t at = span.start; at < span.end; at++) {
            int64_t doc = part->docs[at];
            if (!is_inside(part, doc) || written == packings)
                continue;
            if (maxima[doc >> BLOCK_BITS] < impacts[at])
                maxima[doc >> BLOCK_BITS] = impacts[at];
            while (begun <= doc >> STRETCH_BITS)
                skips[begun++] = written;
            packed[written++] = (uint16_t)((doc & (STRETCH - 1)) << 8 | impacts[at]);
        }
        while (begun < stretches)
            skips[begun++] = written;
    }
}

static int64_t count_dead(const Part *part, int64_t start, int64_t end) {
    int64_t dead = 0;
    if (end - start < 8 * part->deads) {
        for (int64_t at = start; at < end; at++)
            dead += is_inside(part, part->docs[at]) && part->dead[part->docs[at]];
        return dead;
    }
    for (int64_t number = 0; number < part->deads; number++) {
        int64_t at = find_doc(part->docs, start, end, part->dead_places[number]);
        dead += at < end && part->docs[at] == part->dead_places[number];
    }
    return dead;
}

/* Where the terms with these keys are, part by part, and in how many live passages each is. */
EXPORT void find_terms(const Part *const *parts, int64_t count, const uint64_t *keys, int64_t asked, Span *spans,
                       int64_t *df) {
    for (int64_t term = 0; term < asked; term++) /* not memset, which takes no NULL: there may be no terms */
        df[term] = 0;
    for (int64_t number = 0; number < count; number++, spans += asked) {
        const Part *part = parts[number];
        for (int64_t term = 0; term < asked; term++) {
            int64_t place = find_key(part->keys, part->terms, keys[term]);
            Span span = {place, 0, 0};
            if (place < part->terms && part->keys[place] == keys[term]) {
                span = find_span(part, place);
                df[term] += span.end - span.start;
                if (part->dead)
                    df[term] -= count_dead(part, span.start, span.end);
            }
            spans[term] = span;
        }
    }
}

/* The same for the terms of several queries: `ends` are those of each among the keys; its spans are side by side. */
EXPORT void find_terms_of_all(const Part *const *parts, int64_t count, const uint64_t *keys, const int64_t *ends,
                              int64_t queries, Span *spans, int64_t *df) {
    for (int64_t query = 0, start = 0; query < queries; start = ends[query++])
        find_terms(parts, count, keys + start, ends[query] - start, spans + count * start, df + start);
}

/* Set the bits of a filter of names, which is zero before. */
EXPORT void fill_name_filter(const uint64_t *keys, int64_t count, int64_t shift, uint64_t *filter) {
    for (int64_t at = 0; at < count; at++)
        filter[keys[at] >> shift >> 6] |= 1ull << (keys[at] >> shift & 63);
}

/* A passage whose name is a run of `size` words of a query. */
typedef struct {
    int64_t query, position, size;
} Named;

/* Write the keys of the runs of up to `longest` words of a query, one word only if it `can_be_name`, and their sizes in
   words; return how many there are. The words are joined by spaces. `hashes` are those of the runs that end at a word,
   the shortest first: they go on together, since one hash alone waits for each of its multiplications. */
static int64_t find_runs(const uint8_t *text, int64_t size, int64_t words, const uint8_t *can_be_name, int64_t longest,
                         uint64_t *hashes, uint64_t *keys, uint8_t *sizes) {
    int64_t runs = 0;
    for (int64_t word = 0, at = 0; word < words; word++) {
        int64_t open = least_of(word + 1, longest);
        for (int64_t run = open - 1; run > 0; run--)
            hashes[run] = add_to_hash(hashes[run - 1], (const uint8_t *)" ", 0, 1);
        hashes[0] = BASIS;
        for (; at < size && text[at] != ' '; at++)
            for (int64_t run = 0; run < open; run++)
                hashes[run] = (hashes[run] ^ text[at]) * PRIME;
        at++;
        for (int64_t run = can_be_name[word] ? 0 : 1; run < open; run++) {
            sizes[runs] = (uint8_t)(run + 1);
            keys[runs++] = spread(hashes[run]);
        }
    }
    return runs;
}

/* Write the live passages whose name is a run of words of a query, at most `most`; return how many there are.

   The texts of the queries are side by side. `ends` are those of their bytes, and `words` those of their words. */
EXPORT int64_t find_names(const Part *const *parts, int64_t count, const uint8_t *texts, const int64_t *ends,
                          const int64_t *words, int64_t queries, const uint8_t *can_be_name, int64_t longest,
                          Named *named, int64_t most) {
    int64_t most_runs = 1, found = 0;
    for (int64_t query = 0; query < queries; query++)
        most_runs = most_of(most_runs, (words[query] - (query ? words[query - 1] : 0)) * longest);
    uint64_t *keys = malloc((longest + most_runs) * sizeof *keys + most_runs), *hashes = keys + most_runs;
    uint8_t *sizes = (uint8_t *)(hashes + longest);
    for (int64_t query = 0; query < queries; query++) {
        int64_t start = query ? ends[query - 1] : 0, first = query ? words[query - 1] : 0;
        int64_t runs = find_runs(texts + start, ends[query] - start, words[query] - first, can_be_name + first, longest,
                                 hashes, keys, sizes);
        for (int64_t number = 0; number < count; number++) {
            const Part *part = parts[number];
            for (int64_t run = 0; part->name_filter && run < runs; run++)
                __builtin_prefetch(part->name_filter + (keys[run] >> part->name_shift >> 6));
            for (int64_t run = 0; run < runs; run++) {
                uint64_t range = keys[run] >> part->name_shift;
                if (part->name_filter && !(part->name_filter[range >> 6] >> (range & 63) & 1))
                    continue;
                int64_t at = find_key(part->name_keys, part->names, keys[run]);
                for (; at < part->names && part->name_keys[at] == keys[run]; at++) {
                    if (!is_inside(part, part->name_docs[at]) || (part->dead && part->dead[part->name_docs[at]]))
                        continue;
                    if (found < most)
                        named[found] = (Named){query, part->offset + part->name_docs[at], sizes[run]};
                    found++;
                }
            }
        }
    }
    free(keys);
    return found;
}

/* Add to the score of every passage, and leave out the deleted ones. */
EXPORT void score_all(const Part *const *parts, int64_t count, const Span *spans, const double *weights, int64_t asked,
                      double *scores) {
    for (int64_t number = 0; number < count; number++, spans += asked) {
        const Part *part = parts[number];
        double *here = scores + part->offset;
        for (int64_t term = 0; term < asked; term++)
            for (int64_t at = spans[term].start; at < spans[term].end; at++)
                if (is_inside(part, part->docs[at]))
                    here[part->docs[at]] += weights[term] * gain_of(part, at, part->docs[at]);
        for (int64_t dead = 0; dead < part->deads; dead++)
            here[part->dead_places[dead]] = 0.0;
    }
}

/* The weight of a passage's vector for cosine: the squares of its weighted counts, each times its term's idf. */
EXPORT void add_squares(const Part *part, const double *idf, double *squares) {
    for (int64_t term = 0; term < part->terms; term++) {
        Span span = find_span(part, term);
        for (int64_t at = span.start; at < span.end; at++) {
            double weight = weighted_count(part, at) * idf[term];
            if (is_inside(part, part->docs[at]))
                squares[part->docs[at]] += weight * weight;
        }
    }
}

/* Replace the smallest number of a heap. */
#define DEFINE_PUSH(name, type)                                          \
    static inline void name(type *heap, int64_t size, type score) {      \
        int64_t parent = 0, child = 1;                                   \
        while (child < size) {                                           \
            if (child + 1 < size && heap[child + 1] < heap[child])       \
                child++;                                                 \
            if (heap[child] >= score)                                    \
                break;                                                   \
            heap[parent] = heap[child];                                  \
            parent = child;                                              \
            child = 2 * child + 1;                                       \
        }                                                                \
        heap[parent] = score;                                            \
    }
DEFINE_PUSH(push_coarse, int32_t)
DEFINE_PUSH(push_exact, double)

static int32_t largest(const int32_t *values, int64_t count) {
    int32_t best = 0;
    for (int64_t at = 0; at < count; at++)
        best = values[at] > best ? values[at] : best;
    return best;
}

static uint16_t highest(const uint16_t *bounds, int64_t count) {
    uint16_t best = 0;
    for (int64_t at = 0; at < count; at++)
        best = bounds[at] > best ? bounds[at] : best;
    return best;
}

static inline bool is_allowed(const Part *part, const uint8_t *allowed, int64_t doc) {
    return doc < part->size && !(part->dead && part->dead[doc]) && (!allowed || allowed[doc]);
}

/* The terms of a query in one part, as the coarse search takes them. */
typedef struct {
    int64_t start, end, row; /* the row in the tables of frequent terms, -1 for a rare one */
    double weight;
    int32_t share; /* the weight as one of SHARES */
    double covers; /* its part of Scored.covered */
} Term;

typedef struct {
    Term *terms;
    int32_t *order; /* the frequent terms, by weight */
    int64_t count, frequents;
    int32_t *heap;
    int64_t k;
    double sure; /* a score is at least this share of itself, minus one step of every term */
} Query;

/* Add the rare terms to the sums of passages; the bound of a block becomes the highest of its sums. */
static void add_rare(const Part *part, const Query *query, const Room *room) {
    memset(room->bounds, 0, part->blocks * sizeof *room->bounds);
    for (int64_t number = 0; number < query->count; number++) {
        const Term *term = query->terms + number;
        if (term->row >= 0)
            continue;
        for (int64_t at = term->start; at < term->end; at++) {
            __builtin_prefetch(room->sums + part->docs[least_of(at + AHEAD, term->end - 1)], 1);
            int32_t doc = part->docs[at];
            if (!is_inside(part, doc))
                continue;
            int32_t sum = room->sums[doc] + (term->share * part->impacts[at] >> COARSER) + 1;
            uint16_t *bound = room->bounds + (doc >> BLOCK_BITS), high = sum > UINT16_MAX ? UINT16_MAX : (uint16_t)sum;
            room->sums[doc] = high;
            *bound = *bound > high ? *bound : high;
        }
    }
}

static void clear_rare(const Part *part, const Query *query, const Room *room) {
    for (int64_t number = 0; number < query->count; number++) {
        const Term *term = query->terms + number;
        if (term->row < 0)
            for (int64_t at = term->start; at < term->end; at++)
                if (is_inside(part, part->docs[at]))
                    room->sums[part->docs[at]] = 0;
    }
}

/* Add the share of a term, rounded up, to the bounds of blocks. A bound that does not fit becomes the largest one. */
static void add_maxima(const uint8_t *restrict maxima, int64_t blocks, uint16_t share, uint16_t *restrict bounds) {
    for (int64_t block = 0; block < blocks; block++) {
        uint16_t maximum = (uint16_t)(maxima[block] << 8), high = (uint16_t)((uint32_t)maximum * share >> 16);
        high = (uint16_t)(high + (maximum < 1 ? maximum : 1));
        uint16_t sum = (uint16_t)(bounds[block] + high);
        bounds[block] = sum < high ? UINT16_MAX : sum;
    }
}

static void add_frequent(const Part *part, const Query *query, uint16_t *bounds) {
    for (int64_t number = 0; number < query->frequents; number++) {
        const Term *term = query->terms + query->order[number];
        uint16_t share = (uint16_t)((term->share >> (COARSER - 8)) + 1);
        add_maxima(part->maxima + term->row * part->blocks, part->blocks, share, bounds);
    }
}

static inline uint32_t stretch_of(uint32_t block) { return block >> (STRETCH_BITS - BLOCK_BITS); }

/* The place of a block's first passage in its stretch. */
static inline uint32_t first_of(uint32_t block) { return (block << BLOCK_BITS) & (STRETCH - 1); }

/* The least bound of a block that can contain a passage of this coarse score. */
static inline int32_t to_bound(int32_t score) { return (int32_t)most_of(1, score >> COARSER); }

/* Score the passages of blocks, term by term, as long as a block can still contain one of the best passages.

   Blocks are read in batches, so that the postings of all are fetched from memory at the same time. */
static int64_t visit(const Part *part, const Query *query, const Room *room, int64_t count, const uint8_t *allowed,
                     int64_t found) {
    int32_t scores[BATCH][STRETCH], left[BATCH], error = 0;
    uint32_t blocks[BATCH], slots[BATCH], reading[BATCH];
    for (int64_t number = 0; number < query->count; number++)
        error += query->terms[number].share + 255 + (query->terms[number].row < 0 ? 1 << COARSER : 0);
    for (int64_t next = 0; next < count;) {
        int32_t best = query->heap[0], least = to_bound(best);
        int64_t size = 0;
        for (; next < count && size < BATCH; next++) {
            blocks[size] = room->blocks[next];
            size += room->bounds[room->blocks[next]] >= least;
        }
        for (int64_t slot = 0; slot < size; slot++) {
            const uint16_t *sums = room->sums + ((int64_t)blocks[slot] << BLOCK_BITS);
            memset(scores[slot], 0, sizeof scores[slot]);
            for (int64_t doc = 0; doc < BLOCK; doc++)
                scores[slot][first_of(blocks[slot]) + doc] = (int32_t)sums[doc] << COARSER;
            left[slot] = (room->bounds[blocks[slot]] - highest(sums, BLOCK)) << COARSER;
            slots[slot] = (uint32_t)slot;
        }
        for (int64_t place = 0; place < query->frequents && size; place++) {
            const Term *term = query->terms + query->order[place];
            const uint8_t *maxima = part->maxima + term->row * part->blocks;
            const uint32_t *skips = part->skips + term->row * part->stretches;
            int64_t reads = 0, open = 0;
            for (int64_t number = 0; number < size; number++) {
                uint32_t slot = slots[number], block = blocks[slot];
                left[slot] -= term->share * maxima[block];
                __builtin_prefetch(part->packed + skips[stretch_of(block)]);
                reading[reads] = slot;
                reads += maxima[block] != 0;
            }
            for (int64_t number = 0; number < reads; number++) {
                uint32_t slot = reading[number], stretch = stretch_of(blocks[slot]);
                uint32_t start = skips[stretch], end = skips[stretch + 1];
                if (end > part->packings || end - start > STRETCH)
                    continue;
                for (uint32_t at = start; at < end; at++) {
                    int32_t *score = scores[slot] + (part->packed[at] >> 8 & (STRETCH - 1));
                    *score = (int32_t)((uint32_t)*score + (uint32_t)(term->share * (part->packed[at] & 255)));
                }
            }
            for (int64_t number = 0; number < size; number++) {
                uint32_t slot = slots[number];
                slots[open] = slot;
                open += (int64_t)largest(scores[slot] + first_of(blocks[slot]), BLOCK) + left[slot] >= best;
            }
            size = open;
        }
        for (int64_t number = 0; number < size; number++) {
            uint32_t block = blocks[slots[number]];
            const int32_t *here = scores[slots[number]] + first_of(block);
            for (int64_t doc = 0; doc < BLOCK; doc++) {
                int64_t place = ((int64_t)block << BLOCK_BITS) + doc;
                if (here[doc] >= query->heap[0] && is_allowed(part, allowed, place)) {
                    room->places[found] = (uint32_t)place;
                    room->most[found++] = here[doc];
                    int32_t sure = (int32_t)(query->sure * (here[doc] - error));
                    if (sure > query->heap[0])
                        push_coarse(query->heap, query->k, sure);
                }
            }
        }
    }
    return found;
}

/* Write the block with the highest bound of each run of blocks; their number. */
static int64_t best_of_stripes(const uint16_t *bounds, int64_t count, int64_t stripes, int32_t least,
                               uint32_t *blocks) {
    int64_t written = 0, width = most_of(1, count / stripes);
    for (int64_t start = 0; start < count; start += width) {
        int64_t size = least_of(width, count - start), at = 0;
        uint16_t best = highest(bounds + start, size);
        if (best < least)
            continue;
        while (bounds[start + at] != best)
            at++;
        blocks[written++] = (uint32_t)(start + at);
    }
    return written;
}

/* Write the blocks whose bound reaches `least`, roughly the highest first; their number. */
static int64_t sort_by_bound(const uint16_t *bounds, int64_t size, int32_t least, uint32_t *live, uint32_t *blocks) {
    int64_t count = 0, free[BUCKETS + 1] = {0};
    int32_t top = 0;
    for (int64_t start = 0; start < size; start += RUN) {
        int64_t end = least_of(start + RUN, size);
        uint16_t best = highest(bounds + start, end - start);
        if (best < least)
            continue;
        top = best > top ? best : top;
        for (int64_t block = start; block < end; block++) {
            live[count] = (uint32_t)block;
            count += bounds[block] >= least;
        }
    }
    float scale = (float)(BUCKETS - 1) / (float)most_of(top - least, 1);
    for (int64_t number = 0; number < count; number++)
        free[BUCKETS - (int)((float)(bounds[live[number]] - least) * scale)]++;
    for (int bucket = 0; bucket < BUCKETS; bucket++)
        free[bucket + 1] += free[bucket];
    for (int64_t number = 0; number < count; number++) {
        int bucket = BUCKETS - 1 - (int)((float)(bounds[live[number]] - least) * scale);
        blocks[free[bucket]++] = live[number];
    }
    return count;
}

static void leave_out_blocks(const Part *part, const uint8_t *allowed, uint16_t *bounds) {
    for (int64_t block = 0; block < part->blocks; block++) {
        int64_t doc = block << BLOCK_BITS, end = least_of(doc + BLOCK, part->size);
        while (doc < end && !is_allowed(part, allowed, doc))
            doc++;
        if (doc == end)
            bounds[block] = 0;
    }
}

/* Write the passages that may be among the best k, and the most that each can score; their number.

   Largest impacts and the postings of rare terms bound the score in a block. The highest blocks are read first, and
   the scores found there rule out most others. `least` is a known k-th best score. */
static int64_t find_candidates(const Part *part, Query *query, int32_t least, int64_t stripes, const uint8_t *allowed,
                               const Room *room) {
    for (int64_t number = 0; number < query->k; number++)
        query->heap[number] = least > 1 ? least : 1;
    add_rare(part, query, room);
    add_frequent(part, query, room->bounds);
    if (allowed || part->dead)
        leave_out_blocks(part, allowed, room->bounds);
    int64_t count = best_of_stripes(room->bounds, part->blocks, stripes, to_bound(query->heap[0]), room->blocks);
    int64_t found = visit(part, query, room, count, allowed, 0);
    for (int64_t number = 0; number < count; number++)
        room->bounds[room->blocks[number]] = 0;
    count = sort_by_bound(room->bounds, part->blocks, to_bound(query->heap[0]), room->live, room->blocks);
    found = visit(part, query, room, count, allowed, found);
    clear_rare(part, query, room);
    int64_t kept = 0;
    for (int64_t number = 0; number < found; number++)
        if (room->most[number] >= query->heap[0]) {
            room->places[kept] = room->places[number];
            room->most[kept++] = room->most[number];
        }
    return kept;
}

/* Best first, then by place. */
static int compare_scored(const void *first, const void *second) {
    const Scored *one = first, *two = second;
    if (one->score != two->score)
        return one->score > two->score ? -1 : 1;
    return one->place < two->place ? -1 : one->place > two->place;
}

static void score_doc(const Part *part, const Query *query, Scored *scored) {
    int64_t doc = scored->place;
    scored->score = scored->covered = scored->shared = 0.0;
    for (int64_t number = 0; number < query->count; number++) {
        const Term *term = query->terms + number;
        int64_t start = term->start, end = term->end;
        if (term->row >= 0) {
            const uint32_t *skips = part->skips + term->row * part->stretches;
            int64_t first = start - skips[0];
            start = most_of(start, first + skips[doc >> STRETCH_BITS]);
            end = least_of(end, first + skips[(doc >> STRETCH_BITS) + 1]);
        }
        int64_t at = find_doc(part->docs, start, end, doc);
        if (at < end && part->docs[at] == doc) {
            double gain = gain_of(part, at, doc);
            scored->score += term->weight * gain;
            scored->covered += term->covers;
            scored->shared += term->covers * gain;
        }
    }
    if (isnan(scored->score)) /* of lengths below zero; it has no place in an order */
        scored->score = scored->shared = 0.0;
}

/* The terms of a query that a part has, in order. */
static void choose_terms(const Part *part, const Span *spans, const double *weights, const double *shares,
                         int64_t asked, double total, Query *query) {
    query->count = query->frequents = 0;
    for (int64_t number = 0; number < asked; number++) {
        if (spans[number].end <= spans[number].start || weights[number] <= 0)
            continue;
        Term *term = query->terms + query->count;
        int64_t row = part->impacts ? find_place(part->frequent, part->frequents, spans[number].place) : 0;
        *term = (Term){spans[number].start, spans[number].end, -1, weights[number],
                       (int32_t)ceil(weights[number] * (SHARES / total)), shares[number]};
        if (part->impacts && row < part->frequents && part->frequent[row] == spans[number].place) {
            int64_t at = query->frequents++;
            term->row = row;
            for (; at > 0 && query->terms[query->order[at - 1]].share < term->share; at--)
                query->order[at] = query->order[at - 1];
            query->order[at] = (int32_t)query->count;
        }
        query->count++;
    }
}

static double add_up(const double *weights, int64_t count) {
    double total = 0.0;
    for (int64_t term = 0; term < count; term++)
        total += weights[term];
    return total > 1e-300 ? total : 1e-300;
}

static Query make_query(int64_t asked, int64_t k) {
    Term *terms = malloc(asked * (sizeof(Term) + sizeof(int32_t)) + k * sizeof(int32_t) + 1);
    Query query = {.terms = terms, .order = (int32_t *)(terms + asked), .k = k};
    query.heap = query.order + asked;
    return query;
}

/* Write the scores of some positions, 0 for deleted passages, and what is covered. */
EXPORT void look_at(const Part *const *parts, int64_t count, const Span *spans, const double *weights,
                    const double *shares, int64_t asked, Scored *places, int64_t wanted) {
    Query query = make_query(asked, 0);
    double total = add_up(weights, asked);
    for (int64_t number = 0; number < count; number++, spans += asked) {
        const Part *part = parts[number];
        bool is_chosen = false;
        for (Scored *scored = places; scored < places + wanted; scored++) {
            int64_t doc = scored->place - part->offset;
            if (doc < 0 || doc >= part->size)
                continue;
            if (!is_chosen)
                choose_terms(part, spans, weights, shares, asked, total, &query);
            is_chosen = true;
            scored->place = doc;
            score_doc(part, &query, scored);
            scored->place += part->offset;
            if (part->dead && part->dead[doc])
                scored->score = scored->shared = 0.0;
        }
    }
    free(query.terms);
}

/* Find the best k of one part, and those that tie with the last; their number. They are written to the room as Scored:
   candidates are scored, those that can score most first, until none that is left can reach the k-th best.

   `least` is a score that the k-th best has in any case. An impact of 1 is worth `step` times the weight, if lengths
   are normalized as when impacts were computed; `drift` is the ratio of both norms. */
static int64_t rank_part(const Part *part, const Span *spans, const double *weights, const double *shares,
                         int64_t asked, double least, Query *query, int64_t stripes, const uint8_t *allowed,
                         const Room *room) {
    double total = add_up(weights, asked);
    choose_terms(part, spans, weights, shares, asked, total, query);
    if (!query->count)
        return 0;
    double wider = part->drift > 1.0 ? part->drift : 1.0, narrower = part->drift < 1.0 ? part->drift : 1.0;
    double unit = total / SHARES * part->step * wider * 1.0001;
    query->sure = 0.9998 * narrower / wider;
    double known = 0.9998 * least / unit;
    int32_t reached = known > 2147483646.0 ? INT32_MAX : known > 0.0 ? (int32_t)known : 0;
    int64_t found = find_candidates(part, query, reached, stripes, allowed, room);
    Scored *scored = room->scored;
    for (int64_t number = 0; number < found; number++)
        scored[number] = (Scored){room->most[number] * unit, room->places[number], 0, 0};
    qsort(scored, found, sizeof *scored, compare_scored);
    double *heap = malloc(query->k * sizeof *heap);
    for (int64_t number = 0; number < query->k; number++)
        heap[number] = -INFINITY;
    int64_t count = 0;
    for (; count < found && scored[count].score * 1.0001 >= heap[0]; count++) {
        score_doc(part, query, scored + count);
        if (scored[count].score > heap[0])
            push_exact(heap, query->k, scored[count].score);
    }
    int64_t kept = 0;
    for (int64_t number = 0; number < count; number++)
        if (scored[number].score >= heap[0])
            scored[kept++] = scored[number];
    free(heap);
    return kept;
}

/* The k best of all parts and those that tie with the last, best first, then by position; their number.

   `order` lists the parts, the largest first; `allowed` is a mask of all positions or NULL. `memory` is a room for parts
   of up to `size` passages. The results are in memory that `release` frees. */
EXPORT int64_t rank(const Part *const *parts, const int64_t *order, int64_t count, const Span *spans,
                    const double *weights, const double *shares, int64_t asked, int64_t k, int64_t stripes,
                    const uint8_t *allowed, void *memory, int64_t size, Scored **results) {
    Room room = divide(memory, size);
    Query query = make_query(asked, k);
    Scored *best = NULL;
    int64_t kept = 0;
    for (int64_t turn = 0; turn < count; turn++) {
        const Part *part = parts[order[turn]];
        double least = kept >= k ? best[k - 1].score : 0.0;
        const uint8_t *here = allowed ? allowed + part->offset : NULL;
        int64_t found = rank_part(part, spans + order[turn] * asked, weights, shares, asked, least, &query, stripes, here,
                                  &room);
        if (!found)
            continue;
        best = realloc(best, (kept + found) * sizeof *best);
        for (int64_t number = 0; number < found; number++) {
            best[kept] = room.scored[number];
            best[kept++].place += part->offset;
        }
        qsort(best, kept, sizeof *best, compare_scored);
        while (kept > k && best[kept - 1].score < best[k - 1].score)
            kept--;
    }
    free(query.terms);
    *results = best;
    return kept;
}

EXPORT void release(void *memory) { free(memory); }

/* Rank all queries, together with all other threads that call this with the same arrays, each with its own `memory`.

   `ends` are those of each query among the weights, `next` is the number of the next query, and `results` and `kept` are
   what `rank` finds for each. */
EXPORT void rank_all(const Part *const *parts, const int64_t *order, int64_t count, const Span *spans,
                     const double *weights, const double *shares, const int64_t *ends, int64_t queries, int64_t k,
                     int64_t stripes, const uint8_t *allowed, void *memory, int64_t size, int64_t *next,
                     Scored **results, int64_t *kept) {
    for (;;) {
        int64_t query = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
        if (query >= queries)
            return;
        int64_t start = query ? ends[query - 1] : 0;
        kept[query] = rank(parts, order, count, spans + count * start, weights + start, shares + start,
                           ends[query] - start, k, stripes, allowed, memory, size, results + query);
    }
}

/* Write the results of all queries one after another, and free them. */
EXPORT void join_results(Scored **results, const int64_t *kept, int64_t queries, Scored *joined) {
    for (int64_t query = 0; query < queries; joined += kept[query++]) {
        for (int64_t number = 0; number < kept[query]; number++)
            joined[number] = results[query][number];
        free(results[query]);
    }
}

/* Merge the postings of parts, in order, whose passages get new numbers, or -1 if they are left out. The arrays have
   room for everything; `sizes` are the numbers of terms, postings and large counts that were written. */
EXPORT void merge_postings(const Part *const *parts, int64_t count, const int32_t *const *new_docs, int64_t *next,
                           uint64_t *keys, int64_t *starts, int32_t *docs, uint8_t *counts, int64_t *large_places,
                           uint32_t *large_counts, int64_t *sizes) {
    int64_t terms = 0, written = 0, larges = 0, most = 0;
    for (int64_t number = 0; number < count; number++)
        most += parts[number]->postings;
    int64_t *next_term = next, *next_large = next + count; /* of each part, 0 before */
    for (;;) {
        bool is_end = true;
        uint64_t key = 0;
        for (int64_t number = 0; number < count; number++)
            if (next_term[number] < parts[number]->terms) {
                uint64_t other = parts[number]->keys[next_term[number]];
                key = is_end || other < key ? other : key;
                is_end = false;
            }
        if (is_end)
            break;
        int64_t first = written;
        for (int64_t number = 0; number < count; number++) {
            const Part *part = parts[number];
            int64_t term = next_term[number];
            if (term >= part->terms || part->keys[term] != key)
                continue;
            next_term[number]++;
            Span span = find_span(part, term);
            if (span.end - span.start > most - written)
                continue;
            for (int64_t at = span.start; at < span.end; at++) {
                int64_t large = part->counts[at] ? -1 : next_large[number]++;
                int32_t doc = is_inside(part, part->docs[at]) ? new_docs[number][part->docs[at]] : -1;
                if (doc < 0)
                    continue;
                if (large >= 0) {
                    if (large >= part->larges)
                        continue;
                    large_places[larges] = written;
                    large_counts[larges++] = part->large_counts[large];
                }
                docs[written] = doc;
                counts[written++] = part->counts[at];
            }
        }
        if (written > first) {
            keys[terms] = key;
            starts[terms++] = first;
        }
    }
    starts[terms] = written;
    sizes[0] = terms, sizes[1] = written, sizes[2] = larges;
}
