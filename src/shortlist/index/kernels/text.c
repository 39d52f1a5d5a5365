/* Indexing: from texts in one buffer of UTF-8 to words, terms and postings. */
#include "loops.h"

enum { SEPARATOR, WORD, MARK, EMOJI, QUOTE }; /* the classes of characters, as in text_loops.py */
enum { RUNS = 1024 };                         /* runs of terms that postings are first sorted into */

static inline bool is_upper(uint8_t byte) { return byte >= 'A' && byte <= 'Z'; }
static inline bool is_lower(uint8_t byte) { return byte >= 'a' && byte <= 'z'; }
static inline bool is_digit(uint8_t byte) { return byte >= '0' && byte <= '9'; }

/* `analyzers.term_key` of each span. */
EXPORT void hash_spans(const uint8_t *buffer, const int64_t *starts, const int64_t *ends, int64_t count,
                       uint64_t *keys) {
    for (int64_t number = 0; number < count; number++)
        keys[number] = spread(add_to_hash(BASIS, buffer, starts[number], ends[number]));
}

/* The code point of two to four bytes of UTF-8; `width` is how many they are. */
static uint32_t read_code_point(const uint8_t *bytes, int64_t *width) {
    uint32_t first = bytes[0], second = bytes[1] & 0x3F;
    *width = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (*width == 2)
        return (first & 0x1F) << 6 | second;
    uint32_t third = bytes[2] & 0x3F;
    if (*width == 3)
        return (first & 0x0F) << 12 | second << 6 | third;
    return (first & 0x07) << 18 | second << 12 | third << 6 | (bytes[3] & 0x3F);
}

/* Where a word of any script that begins there ends, and its hash. */
static int64_t find_end_of_word(const uint8_t *buffer, int64_t begin, int64_t end, const uint8_t *classes,
                                uint64_t *hash) {
    int64_t at = begin, close = begin;
    uint64_t read = *hash = BASIS;
    bool after_quote = false;
    while (at < end) {
        int64_t width = 1;
        int kind = classes[buffer[at] < 0x80 ? buffer[at] : read_code_point(buffer + at, &width)];
        if (kind == WORD || (kind == MARK && !after_quote && at > begin) || (kind == EMOJI && at == begin))
            after_quote = false;
        else if (kind == QUOTE && !after_quote && at > begin)
            after_quote = true;
        else
            break;
        read = add_to_hash(read, buffer, at, at + width);
        at += width;
        if (!after_quote) {
            close = at;
            *hash = read;
        }
        if (kind == EMOJI)
            break;
    }
    return close;
}

/* A table has pairs of a hash and a number, counted from 1. */
static inline int64_t find_slot(const uint64_t *table, uint64_t mask, uint64_t hash) {
    uint64_t slot = (hash ^ (hash >> 29)) & mask;
    while (table[2 * slot + 1] && table[2 * slot] != hash)
        slot = (slot + 1) & mask;
    return 2 * slot;
}

/* Move all words of a table into a larger one. */
EXPORT void rehash(const uint64_t *old, int64_t old_size, uint64_t *table, int64_t size) {
    for (int64_t at = 0; at < old_size; at += 2)
        if (old[at + 1]) {
            int64_t slot = find_slot(table, size / 2 - 1, old[at]);
            table[slot] = old[at];
            table[slot + 1] = old[at + 1];
        }
}

/* Split texts into words as the pattern `word(?:'word)*|emoji` would, and number each distinct word.

   `state` is the first text to scan and the numbers of known words and written tokens. If there is no room for more
   words, the result is false: enlarge the table and continue from `state`. */
EXPORT bool scan(const uint8_t *buffer, const int64_t *starts, const int64_t *ends, int64_t texts,
                 const uint8_t *classes, uint64_t *table, int64_t table_size, int64_t *word_starts, int64_t *word_ends,
                 int64_t most_words, int32_t *tokens, int32_t *counts, int64_t *state) {
    int64_t known = state[1], written = state[2];
    uint64_t mask = table_size / 2 - 1;
    uint8_t plain[256]; /* 1 for the word characters of ASCII, 2 for those that `find_end_of_word` decides */
    for (int byte = 0; byte < 256; byte++)
        plain[byte] = byte >= 128 || classes[byte] == QUOTE ? 2 : classes[byte] == WORD;
    for (int64_t text = state[0]; text < texts; text++) {
        int64_t at = starts[text], end = ends[text], first = written;
        while (at < end) {
            int64_t begin = at;
            uint64_t hash = BASIS;
            while (at < end && plain[buffer[at]] == 1)
                hash = (hash ^ buffer[at++]) * PRIME;
            if (at < end && plain[buffer[at]] == 2) {
                at = find_end_of_word(buffer, begin, end, classes, &hash);
                if (at == begin) {
                    int64_t width = 1;
                    if (buffer[at] >= 0x80)
                        read_code_point(buffer + at, &width);
                    at += width;
                    continue;
                }
            } else if (at == begin) {
                at++;
                continue;
            }
            int64_t slot = find_slot(table, mask, hash);
            if (!table[slot + 1]) {
                if (known == most_words) {
                    state[0] = text, state[1] = known, state[2] = first;
                    return false;
                }
                word_starts[known] = begin;
                word_ends[known] = at;
                table[slot] = hash;
                table[slot + 1] = ++known;
            }
            tokens[written++] = (int32_t)table[slot + 1] - 1;
        }
        counts[text] = (int32_t)(written - first);
    }
    state[0] = texts, state[1] = known, state[2] = written;
    return true;
}

/* Whether a word is all digits, or all letters that are lowercase, uppercase, or lowercase after the first. */
static bool is_plain(const uint8_t *buffer, int64_t start, int64_t end) {
    int64_t digits = 0, lowers = 0, uppers = 0, size = end - start;
    for (int64_t at = start; at < end; at++) {
        digits += is_digit(buffer[at]);
        lowers += is_lower(buffer[at]);
        uppers += is_upper(buffer[at]);
    }
    return digits == size || lowers == size || uppers == size || (lowers == size - 1 && is_upper(buffer[start]));
}

/* Remove a final 's and all other quotes of a word, in place; its new end. */
static int64_t remove_quotes(uint8_t *buffer, int64_t start, int64_t end) {
    if (end - start > 1 && buffer[end - 2] == '\'' && (buffer[end - 1] | 32) == 's')
        end -= 2;
    int64_t to = start;
    for (int64_t at = start; at < end; at++) {
        buffer[to] = buffer[at];
        to += buffer[at] != '\'';
    }
    return to;
}

/* The first place from `at` on with a byte outside low..high. */
static inline int64_t skip(const uint8_t *buffer, int64_t at, int64_t end, uint8_t low, uint8_t high) {
    while (at < end && buffer[at] >= low && buffer[at] <= high)
        at++;
    return at;
}

/* Write the parts of a word between underscores; how many parts are written then. */
static int64_t split_piece(const uint8_t *buffer, int64_t piece, int64_t close, int64_t *part_starts,
                           int64_t *part_ends, int64_t written) {
    int64_t first = written, letters = 0, at = piece;
    while (at < close) {
        int64_t begin = at;
        if (is_digit(buffer[at])) {
            at = skip(buffer, at, close, '0', '9');
        } else {
            at = skip(buffer, at, close, 'A', 'Z');
            if (at < close && is_lower(buffer[at]))
                at = at - begin > 1 ? at - 1 : skip(buffer, at, close, 'a', 'z');
            letters = most_of(letters, at - begin);
        }
        part_starts[written] = begin;
        part_ends[written++] = at;
    }
    if (letters < 3 && written - first > 1) {
        part_starts[first] = piece;
        part_ends[first] = close;
        return first + 1;
    }
    return written;
}

/* Split words into parts as `analyzers.subwords` does, without quotes and without underscores at the ends.

   `counts` are the parts of each word: 0 for a word of underscores alone; -1 if it is not ASCII or is long, and was not
   split. The bounds of words are moved to what is left of them. `quoted` says which words had quotes. */
EXPORT void split_words(uint8_t *buffer, int64_t *starts, int64_t *ends, int64_t words, int64_t longest,
                        int64_t *part_starts, int64_t *part_ends, int64_t *counts, uint8_t *quoted) {
    int64_t written = 0;
    for (int64_t word = 0; word < words; word++) {
        int64_t start = starts[word], end = ends[word], first = written;
        bool is_ascii = true, has_quotes = false;
        for (int64_t at = start; at < end; at++) {
            is_ascii &= buffer[at] < 0x80;
            has_quotes |= buffer[at] == '\'';
        }
        quoted[word] = has_quotes;
        if (is_ascii && has_quotes)
            end = remove_quotes(buffer, start, end);
        start = skip(buffer, start, end, '_', '_');
        while (start < end && buffer[end - 1] == '_')
            end--;
        if (!is_ascii || end - start > longest) {
            counts[word] = -1;
            continue;
        }
        starts[word] = start;
        ends[word] = end;
        if (start < end && is_plain(buffer, start, end)) {
            part_starts[written] = start;
            part_ends[written++] = end;
            start = end;
        }
        while (start < end) {
            int64_t close = start;
            while (close < end && buffer[close] != '_')
                close++;
            written = split_piece(buffer, start, close, part_starts, part_ends, written);
            start = close + 1;
        }
        counts[word] = written - first;
    }
}

/* Copy the spans one after the other, each followed by a separator. */
EXPORT void gather(const uint8_t *buffer, const int64_t *starts, const int64_t *ends, int64_t spans, uint8_t *out,
                   uint8_t separator) {
    for (int64_t span = 0; span < spans; span++) {
        int64_t size = ends[span] - starts[span];
        memcpy(out, buffer + starts[span], size);
        out[size] = separator;
        out += size + 1;
    }
}

/* `analyzers.term_key` of names: the parts of their words joined by spaces; 0 if there are none or too many. */
EXPORT void hash_names(const int32_t *tokens, const int32_t *counts, int64_t names, const int64_t *firsts,
                       const int64_t *lasts, const int64_t *part_starts, const int64_t *part_ends,
                       const uint8_t *buffer, int64_t most, uint64_t *keys) {
    for (int64_t name = 0; name < names; name++) {
        uint64_t hash = BASIS;
        int64_t parts = 0;
        for (int32_t word = 0; word < counts[name]; word++, tokens++)
            for (int64_t part = firsts[*tokens]; part < lasts[*tokens]; part++) {
                if (parts++)
                    hash = (hash ^ ' ') * PRIME;
                hash = add_to_hash(hash, buffer, part_starts[part], part_ends[part]);
            }
        keys[name] = parts > 0 && parts <= most ? spread(hash) : 0;
    }
}

/* Write the texts that have words but no terms, and where the tokens of each begin; their number. */
EXPORT int64_t find_silent_texts(const int32_t *tokens, const int32_t *counts, int64_t texts,
                                 const int64_t *term_starts, int64_t *found, int64_t *places) {
    int64_t written = 0, at = 0;
    for (int64_t text = 0; text < texts; at += counts[text++]) {
        int32_t word = 0;
        while (word < counts[text] && term_starts[tokens[at + word]] == term_starts[tokens[at + word] + 1])
            word++;
        if (counts[text] && word == counts[text]) {
            found[written] = text;
            places[written++] = at;
        }
    }
    return written;
}

EXPORT int64_t count_terms(const int32_t *tokens, int64_t count, const uint32_t *term_starts) {
    int64_t total = 0;
    for (int64_t at = 0; at < count; at++)
        total += term_starts[tokens[at] + 1] - term_starts[tokens[at]];
    return total;
}

typedef struct {
    uint32_t term;
    int32_t doc;
    uint32_t count;
} Entry;

/* Move postings to the free places of their terms without the last bits. */
static void sort_entries(const Entry *entries, int64_t size, int bits, int64_t *free, Entry *out) {
    for (int64_t entry = 0; entry < size; entry++)
        out[free[entries[entry].term >> bits]++] = entries[entry];
}

/* Postings of tokens; the terms of word w are terms[term_starts[w]:term_starts[w + 1]], numbered up to `distinct`.

   Texts of other fields than the three are left out. `starts` and `lengths` are zero before; `docs` and `counts` have
   room for `total` postings (`count_terms`). The number of postings, or -1 without memory. */
EXPORT int64_t count_postings(const int32_t *tokens, const int32_t *text_counts, const int64_t *text_docs,
                              const int64_t *text_fields, int64_t texts, const uint32_t *term_starts,
                              const uint32_t *terms, int64_t distinct, int64_t total, int64_t *starts, int32_t *docs,
                              uint32_t *counts, int32_t *lengths) {
    static const uint32_t SHIFTS[] = {24, 16, 0}, LIMITS[] = {0xFF, 0xFF, 0xFFFF}; /* as in formulas.py */
    Entry *entries = malloc((total + 1) * sizeof *entries), *sorted = malloc((total + 1) * sizeof *sorted);
    int32_t *last_entry = malloc((distinct + 1) * sizeof *last_entry);
    int64_t *free_places = malloc((distinct + 1) * sizeof *free_places);
    int64_t written = -1;
    if (!entries || !sorted || !last_entry || !free_places)
        goto done;
    memset(last_entry, 0xFF, distinct * sizeof *last_entry);
    written = 0;
    int64_t first_of_doc = 0, last_doc = -1;
    for (int64_t text = 0; text < texts; tokens += text_counts[text++]) {
        int64_t doc = text_docs[text], field = text_fields[text];
        if (field > 2)
            continue;
        if (doc != last_doc) {
            last_doc = doc;
            first_of_doc = written;
        }
        uint32_t shift = SHIFTS[field], limit = LIMITS[field];
        int32_t length = 0;
        for (int32_t word = 0; word < text_counts[text]; word++)
            for (uint32_t place = term_starts[tokens[word]]; place < term_starts[tokens[word] + 1]; place++) {
                uint32_t term = terms[place];
                int32_t entry = last_entry[term];
                length++;
                if (entry < first_of_doc) {
                    last_entry[term] = (int32_t)written;
                    entries[written++] = (Entry){term, (int32_t)doc, 1u << shift};
                    starts[term + 1]++;
                } else if ((entries[entry].count >> shift & limit) != limit) {
                    entries[entry].count += 1u << shift;
                }
            }
        lengths[3 * doc + field] += length;
    }
    for (int64_t term = 0; term < distinct; term++)
        starts[term + 1] += starts[term];
    /* Two passes, each of which writes to few places at a time: first into runs of terms, then each run by its terms. */
    int bits = 0;
    while (distinct >> bits > RUNS)
        bits++;
    for (int64_t run = 0; run << bits < distinct; run++)
        free_places[run] = starts[run << bits];
    sort_entries(entries, written, bits, free_places, sorted);
    memcpy(free_places, starts, distinct * sizeof *starts);
    for (int64_t entry = 0; entry < written; entry++) {
        int64_t to = free_places[sorted[entry].term]++;
        docs[to] = sorted[entry].doc;
        counts[to] = sorted[entry].count;
    }
done:
    free(entries);
    free(sorted);
    free(last_entry);
    free(free_places);
    return written;
}
