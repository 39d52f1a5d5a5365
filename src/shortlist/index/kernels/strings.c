/* Stored texts: coded by a table of frequent strings, so that each can be decoded alone. The idea is FSST's (Boncz,
   Neumann, Leis, VLDB 2020), with codes of two bytes beside those of one: on Wikipedia 2.1 : 1 instead of 1.75 : 1.

   A symbol is 1 to 8 bytes. Codes below SHORT are one byte, the others two; the last 256 are those of each byte alone.
   A table is the lengths of all symbols, 0 for those not used, then their bytes, each filled to 8 with zeros. A frame
   is the length of the text (7 bits in a byte, the lowest first, with 0x80 if more follow), then its codes. */
#include "loops.h"

enum { LONGEST = 8, SHORT = 223, SYMBOLS = SHORT + (256 - SHORT) * 256, BYTES = SYMBOLS - 256, TABLE = SYMBOLS * 9 };
enum { WORTH_TWO = 3 };   /* bytes of a symbol that are worth a code of two */
enum { MOST_SHIFT = 42 }; /* of the bits of a length */
enum { GENERATIONS = 5, SLOT_BITS = 14 };

typedef struct {
    uint64_t value;
    uint16_t length, code, next; /* the next symbol in the same slot, or 0 */
} Symbol;

/* A symbol of at least 3 bytes is found by the first 3, and one of 2 by both. Symbol b is byte b alone. */
typedef struct {
    Symbol symbols[256 + BYTES];
    uint64_t masks[LONGEST + 1]; /* the bytes of a word that a symbol of this length has */
    uint16_t by_three[1 << SLOT_BITS], by_two[1 << 16];
} Matcher;

typedef struct {
    uint64_t value;
    int64_t count; /* 0 in an empty slot */
    int64_t length;
} Candidate;

/* Up to eight bytes as one word, the rest of which is 0. */
static inline uint64_t read_word(const uint8_t *bytes, int64_t length) {
    uint64_t word = 0;
    if (length >= LONGEST)
        memcpy(&word, bytes, LONGEST);
    else
        memcpy(&word, bytes, (size_t)length);
    return word;
}

static inline uint64_t mask_of(int64_t length) {
    static const uint8_t ones[LONGEST] = {255, 255, 255, 255, 255, 255, 255, 255};
    return read_word(ones, length);
}

static inline uint64_t slot_of(uint64_t word) {
    return ((word & mask_of(3)) * 0x9E3779B97F4A7C15u) >> (64 - SLOT_BITS);
}

static void prepare(Matcher *matcher, const uint8_t *table) {
    memset(matcher->by_three, 0, sizeof(matcher->by_three));
    for (int64_t length = 0; length <= LONGEST; length++)
        matcher->masks[length] = mask_of(length);
    for (int32_t byte = 0; byte < 256; byte++) {
        matcher->symbols[byte] = (Symbol){0, 1, (uint16_t)(BYTES + byte), 0};
        for (int32_t next = 0; next < 256; next++)
            matcher->by_two[byte << 8 | next] = (uint16_t)byte;
    }
    /* In a slot the first symbol that matches is used. The table has those that are better first. */
    for (int32_t code = BYTES - 1; code >= 0; code--) {
        const uint8_t *bytes = table + SYMBOLS + LONGEST * code;
        int32_t length = table[code], number = 256 + code;
        uint64_t word = read_word(bytes, length);
        if (length == 1) {
            matcher->symbols[bytes[0]].code = (uint16_t)code;
        } else if (length > 1) {
            bool is_pair = length == 2;
            uint16_t *slot = is_pair ? matcher->by_two + (bytes[0] << 8 | bytes[1]) : matcher->by_three + slot_of(word);
            matcher->symbols[number] = (Symbol){word, (uint16_t)length, (uint16_t)code, is_pair ? 0 : *slot};
            *slot = (uint16_t)number;
        }
    }
}

/* The symbol for the start of a text of at least one byte. */
static inline const Symbol *match(const Matcher *matcher, const uint8_t *bytes, int64_t left) {
    uint64_t word = read_word(bytes, left);
    for (int64_t number = matcher->by_three[slot_of(word)]; number; number = matcher->symbols[number].next) {
        const Symbol *symbol = matcher->symbols + number;
        if ((word & matcher->masks[symbol->length]) == symbol->value && symbol->length <= left)
            return symbol;
    }
    return matcher->symbols + (left > 1 ? matcher->by_two[bytes[0] << 8 | bytes[1]] : bytes[0]);
}

static void count_string(Candidate *slots, uint64_t last, uint64_t word, int64_t length) {
    uint64_t value = word & mask_of(length), slot = spread(value * PRIME + (uint64_t)length) & last;
    while (slots[slot].count && (slots[slot].value != value || slots[slot].length != length))
        slot = (slot + 1) & last;
    slots[slot] = (Candidate){value, slots[slot].count + 1, length};
}

/* About twice the bytes that it saves: a code takes one or two, and a byte alone two without a short one. */
static inline int64_t gain_of(const Candidate *one) {
    return one->count * (one->length == 1 ? 2 : 2 * one->length - 3);
}

static int compare_strings(const Candidate *one, const Candidate *other) {
    if (one->length != other->length)
        return one->length > other->length ? -1 : 1;
    return memcmp(&one->value, &other->value, LONGEST);
}

static int compare_gains(const void *a, const void *b) {
    int64_t one = gain_of(a), other = gain_of(b);
    return one != other ? (one > other ? -1 : 1) : compare_strings(a, b);
}

static int compare_counts(const void *a, const void *b) {
    int64_t one = ((const Candidate *)a)->count, other = ((const Candidate *)b)->count;
    return one != other ? (one > other ? -1 : 1) : compare_strings(a, b);
}

static int compare_lengths(const void *a, const void *b) { return compare_strings(a, b); }

/* The table of the candidates with the highest gain: short codes for the most frequent, and longer symbols first. */
static void choose(Candidate *candidates, int64_t count, uint8_t *table) {
    qsort(candidates, (size_t)count, sizeof(Candidate), compare_gains);
    count = least_of(count, BYTES);
    qsort(candidates, (size_t)count, sizeof(Candidate), compare_counts);
    int64_t frequent = least_of(count, SHORT);
    qsort(candidates, (size_t)frequent, sizeof(Candidate), compare_lengths);
    qsort(candidates + frequent, (size_t)(count - frequent), sizeof(Candidate), compare_lengths);
    memset(table, 0, TABLE);
    for (int64_t code = 0; code < count; code++) {
        if (code >= SHORT && candidates[code].length < WORTH_TWO)
            break;
        table[code] = (uint8_t)candidates[code].length;
        memcpy(table + SYMBOLS + LONGEST * code, &candidates[code].value, LONGEST);
    }
    for (int64_t byte = 0; byte < 256; byte++) {
        table[BYTES + byte] = 1;
        table[SYMBOLS + LONGEST * (BYTES + byte)] = (uint8_t)byte;
    }
}

/* Make a table for texts like a sample; false without enough memory. Each generation codes the sample with the table
   of the one before. Its candidates are the symbols that were used, and each together with the next, or its first
   byte. */
EXPORT bool make_table(const uint8_t *sample, int64_t size, uint8_t *table) {
    uint64_t room = 1024; /* two symbols of one byte, or one of more, have at most two strings per byte */
    while (room <= 2 * (uint64_t)size)
        room *= 2;
    Matcher *matcher = malloc(sizeof(Matcher));
    Candidate *slots = malloc(room * sizeof(Candidate));
    bool has_room = matcher && slots;
    memset(table, 0, TABLE);
    for (int generation = 1; has_room && generation <= GENERATIONS; generation++) {
        prepare(matcher, table);
        memset(slots, 0, room * sizeof(Candidate));
        for (int64_t at = 0, before = 0, length; at < size; before = length, at += length) {
            length = match(matcher, sample + at, size - at)->length;
            count_string(slots, room - 1, read_word(sample + at, length), length);
            if (before == 0 || before == LONGEST || generation == GENERATIONS)
                continue;
            uint64_t word = read_word(sample + at - before, before + length);
            count_string(slots, room - 1, word, least_of(before + length, LONGEST));
            if (length > 1 && before + 1 < LONGEST)
                count_string(slots, room - 1, word, before + 1);
        }
        int64_t count = 0;
        for (uint64_t slot = 0; slot < room; slot++)
            if (slots[slot].count > 1)
                slots[count++] = slots[slot];
        choose(slots, count, table);
    }
    free(matcher);
    free(slots);
    return has_room;
}

/* The bytes of a matcher, and a matcher for a table. */
EXPORT int64_t matcher_bytes(int64_t count) { return count * (int64_t)sizeof(Matcher); }

EXPORT void prepare_matcher(const uint8_t *table, void *memory) { prepare(memory, table); }

/* Code texts that follow each other; each takes at most twice its bytes and 10. `ends` are those of the texts, then of
   their frames. */
EXPORT void encode_many(const uint8_t *texts, int64_t *ends, int64_t count, const void *memory, uint8_t *out) {
    const Matcher *matcher = memory;
    int64_t at = 0, written = 0;
    for (int64_t number = 0; number < count; number++) {
        uint64_t size = (uint64_t)(ends[number] - at);
        for (; size >= 0x80; size >>= 7)
            out[written++] = (uint8_t)(size | 0x80);
        out[written++] = (uint8_t)size;
        while (at < ends[number]) {
            const Symbol *symbol = match(matcher, texts + at, ends[number] - at);
            int32_t code = symbol->code, rest = code - SHORT;
            out[written] = (uint8_t)(rest < 0 ? code : SHORT + (rest >> 8));
            out[written + 1] = (uint8_t)rest;
            written += 1 + (rest >= 0);
            at += symbol->length;
        }
        ends[number] = written;
    }
}

/* Decode frames that follow each other: how many bytes their texts are, or -1 if one is damaged or there is too little
   room. `ends` are those of the frames, then of the texts. */
EXPORT int64_t decode_many(const uint8_t *frames, int64_t *ends, int64_t count, const uint8_t *table, uint8_t *out,
                           int64_t room) {
    int64_t at = 0, written = 0;
    for (int64_t number = 0; number < count; number++) {
        int64_t end = ends[number], size = 0;
        for (int shift = 0;; shift += 7) {
            if (at >= end || shift > MOST_SHIFT)
                return -1;
            size |= (int64_t)(frames[at] & 0x7F) << shift;
            if (frames[at++] < 0x80)
                break;
        }
        if (size > LONGEST * (end - at) || size > room - written)
            return -1;
        int64_t stop = written + size;
        while (at < end) { /* of its branches, all can be predicted */
            int64_t first = frames[at], second = at + 1 < end ? frames[at + 1] : 0, is_long = first >= SHORT;
            int64_t code = first + is_long * ((first - SHORT) * 255 + second);
            int64_t length = table[code];
            at += 1 + is_long;
            if (at > end || length < 1 || length > LONGEST || length > stop - written)
                return -1;
            const uint8_t *symbol = table + SYMBOLS + LONGEST * code;
            if (room - written >= LONGEST) /* a copy of constant size is faster, and its rest is overwritten */
                memcpy(out + written, symbol, LONGEST);
            else
                memcpy(out + written, symbol, (size_t)length);
            written += length;
        }
        if (written != stop)
            return -1;
        ends[number] = stop;
    }
    return written;
}
