"""The compiled loops that index: from texts to words, terms and postings."""

import numpy as np
from numba import njit

from shortlist.index.kernels.formulas import LIMITS, SHIFTS

# The number of runs of terms that postings are first sorted into.
RUNS = 1024

# The classes of characters for the scanner of words.
SEPARATOR, WORD, MARK, EMOJI, QUOTE = range(5)

# Numba checks a signed index for being negative; an unsigned one is used as it is.
_1 = np.uint64(1)

_PRIME = np.uint64(1099511628211)
_BASIS = np.uint64(14695981039346656037)
_MIX = np.uint64(0xFF51AFD7ED558CCD)
_33 = np.uint64(33)

_is_upper = njit(inline="always")(lambda byte: 65 <= byte <= 90)
_is_lower = njit(inline="always")(lambda byte: 97 <= byte <= 122)
_is_digit = njit(inline="always")(lambda byte: 48 <= byte <= 57)
_slot = njit(inline="always")(lambda hash, mask: (hash ^ (hash >> np.uint64(29))) & mask)  # where a search starts
_allocate = njit(lambda size: (np.empty(size, np.uint32), np.empty(size, np.int32), np.empty(size, np.uint32)))


@njit(cache=True, nogil=True, inline="always")
def _spread(hash):  # type: ignore[no-untyped-def]
    """The last step of `analyzers.term_key`."""
    hash = (hash ^ (hash >> _33)) * _MIX
    return hash ^ (hash >> _33)


@njit(cache=True, nogil=True)
def hash_spans(buffer, starts, ends):  # type: ignore[no-untyped-def]
    """`analyzers.term_key` of each span."""
    keys = np.empty(len(starts), np.uint64)
    for number in range(len(starts)):
        hash = _BASIS
        for at in range(starts[number], ends[number]):
            hash = (hash ^ np.uint64(buffer[at])) * _PRIME
        keys[number] = _spread(hash)
    return keys


@njit(cache=True, nogil=True)
def _code_point(buffer, at):  # type: ignore[no-untyped-def]
    """The code point of two to four bytes of UTF-8, and how many they are."""
    first, second = np.uint32(buffer[at]), np.uint32(buffer[at + 1]) & np.uint32(0x3F)
    if first < 0xE0:
        return ((first & np.uint32(0x1F)) << np.uint32(6)) | second, 2
    third = np.uint32(buffer[at + 2]) & np.uint32(0x3F)
    if first < 0xF0:
        return ((first & np.uint32(0x0F)) << np.uint32(12)) | (second << np.uint32(6)) | third, 3
    fourth = np.uint32(buffer[at + 3]) & np.uint32(0x3F)
    high = ((first & np.uint32(0x07)) << np.uint32(18)) | (second << np.uint32(12))
    return high | (third << np.uint32(6)) | fourth, 4


@njit(cache=True, nogil=True, inline="always")
def _intern(table, hash, count, word_starts, word_ends, start, end):  # type: ignore[no-untyped-def]
    """The number of the word with that hash; a new word is added as number `count`."""
    mask = np.uint64(len(table) // 2 - 1)
    slot = _slot(hash, mask)
    while table[slot + slot + _1] != np.uint64(0):
        if table[slot + slot] == hash:
            return np.int64(table[slot + slot + _1]) - 1
        slot = (slot + _1) & mask
    table[slot + slot], table[slot + slot + _1] = hash, np.uint64(count + 1)
    word_starts[count], word_ends[count] = start, end
    return count


@njit(cache=True, nogil=True)
def _end_of_word(buffer, begin, end, classes):  # type: ignore[no-untyped-def]
    """Where a word of any script that begins there ends, and its hash."""
    at, close = begin, begin
    hash = closed_hash = _BASIS
    after_quote = False
    while at < end:
        byte = buffer[at]
        if byte < 0x80:
            kind, after = classes[byte], at + _1
        else:
            code, width = _code_point(buffer, at)
            kind, after = classes[code], at + np.uint64(width)
        if kind == WORD or (kind == MARK and not after_quote and at > begin) or (kind == EMOJI and at == begin):
            after_quote = False
        elif kind == QUOTE and not after_quote and at > begin:
            after_quote = True
        else:
            break
        while at < after:
            hash = (hash ^ np.uint64(buffer[at])) * _PRIME
            at += _1
        if not after_quote:
            close, closed_hash = at, hash
        if kind == EMOJI:
            break
    return close, closed_hash


@njit(cache=True, nogil=True)
def scan(buffer, starts, ends, classes, table, word_starts, word_ends, tokens, counts, state):  # type: ignore[no-untyped-def]
    """Split texts into words as the pattern `word(?:'word)*|emoji` would, and number each distinct word.

    `state` is the first text to scan and the numbers of known words and written tokens. If there is no room for more
    words, the result is False: enlarge the table and continue from `state`.
    """
    known, written = state[1], state[2]
    plain = np.zeros(256, np.uint8)  # 1 for the word characters of ASCII, 2 for those that `_end_of_word` decides
    plain[:128] = (classes[:128] == WORD) + 2 * (classes[:128] == QUOTE)
    plain[128:] = 2
    for text in range(state[0], len(starts)):
        at, end = np.uint64(starts[text]), np.uint64(ends[text])
        first = written
        while at < end:
            begin, hash = at, _BASIS
            while at < end and plain[buffer[at]] == 1:
                hash = (hash ^ np.uint64(buffer[at])) * _PRIME
                at += _1
            if at < end and plain[buffer[at]] == 2:
                at, hash = _end_of_word(buffer, begin, end, classes)
                if at == begin:
                    at += np.uint64(1) if buffer[at] < 0x80 else np.uint64(_code_point(buffer, at)[1])
                    continue
            elif at == begin:
                at += _1
                continue
            if known == len(word_starts):
                state[0], state[1], state[2] = text, known, first
                return False
            word = _intern(table, hash, known, word_starts, word_ends, begin, at)
            if word == known:
                known += 1
            tokens[written] = word
            written += 1
        counts[text] = written - first
    state[0], state[1], state[2] = len(starts), known, written
    return True


@njit(cache=True, nogil=True)
def rehash(old, new):  # type: ignore[no-untyped-def]
    """Move all words of a table into a larger one."""
    mask = np.uint64(len(new) // 2 - 1)
    for place in range(0, len(old), 2):
        if old[place + 1] != np.uint64(0):
            slot = _slot(old[place], mask)
            while new[slot + slot + _1] != np.uint64(0):
                slot = (slot + _1) & mask
            new[slot + slot], new[slot + slot + _1] = old[place], old[place + 1]


@njit(cache=True, nogil=True)
def _is_plain(buffer, start, end):  # type: ignore[no-untyped-def]
    """Whether a word is all digits, or all letters that are lowercase, uppercase, or lowercase after the first."""
    digits, lowers, uppers = 0, 0, 0
    for at in range(start, end):
        digits += _is_digit(buffer[at])
        lowers += _is_lower(buffer[at])
        uppers += _is_upper(buffer[at])
    size = end - start
    return digits == size or lowers == size or uppers == size or (lowers == size - 1 and _is_upper(buffer[start]))


@njit(cache=True, nogil=True)
def _remove_quotes(buffer, start, end):  # type: ignore[no-untyped-def]
    """Remove a final 's and all other quotes of a word, in place; its new end."""
    if end - start > 1 and buffer[end - 2] == 39 and buffer[end - 1] | 32 == 115:
        end -= 2
    to = start
    for at in range(start, end):
        buffer[to] = buffer[at]
        to += buffer[at] != 39
    return to


@njit(cache=True, nogil=True, inline="always")
def _skip(buffer, at, end, low, high):  # type: ignore[no-untyped-def]
    """The first place from `at` on with a byte outside low..high."""
    while at < end and low <= buffer[at] <= high:
        at += 1
    return at


@njit(cache=True, nogil=True)
def _split_piece(buffer, piece, close, part_starts, part_ends, written):  # type: ignore[no-untyped-def]
    """Write the parts of a word between underscores; how many parts are written then."""
    first, letters, at = written, 0, piece
    while at < close:
        begin = at
        if _is_digit(buffer[at]):
            at = _skip(buffer, at, close, 48, 57)
        else:
            at = _skip(buffer, at, close, 65, 90)
            if at < close and _is_lower(buffer[at]):
                at = at - 1 if at - begin > 1 else _skip(buffer, at, close, 97, 122)
            letters = max(letters, at - begin)
        part_starts[written], part_ends[written] = begin, at
        written += 1
    if letters < 3 and written - first > 1:
        part_starts[first], part_ends[first] = piece, close
        return first + 1
    return written


@njit(cache=True, nogil=True)
def split_words(buffer, starts, ends, longest, part_starts, part_ends):  # type: ignore[no-untyped-def]
    """Split words into parts as `analyzers.subwords` does, without quotes and without underscores at the ends.

    The number of parts of each word, 0 for a word of underscores alone; -1 if the word is not ASCII or is long, and was
    not split. The bounds of words are moved to what is left of them. Also which words had quotes.
    """
    counts = np.zeros(len(starts), np.int64)
    quoted = np.zeros(len(starts), np.bool_)
    written = 0
    for word in range(len(starts)):
        start, end = starts[word], ends[word]
        is_ascii = True
        for at in range(start, end):
            is_ascii &= buffer[at] < 0x80
            quoted[word] |= buffer[at] == 39
        if is_ascii and quoted[word]:
            end = _remove_quotes(buffer, start, end)
        start = _skip(buffer, start, end, 95, 95)
        while start < end and buffer[end - 1] == 95:
            end -= 1
        if not is_ascii or end - start > longest:
            counts[word] = -1
            continue
        starts[word], ends[word] = start, end
        first = written
        if start < end and _is_plain(buffer, start, end):
            part_starts[written], part_ends[written] = start, end
            written += 1
            start = end
        while start < end:
            close = start
            while close < end and buffer[close] != 95:
                close += 1
            written = _split_piece(buffer, start, close, part_starts, part_ends, written)
            start = close + 1
        counts[word] = written - first
    return counts, quoted


@njit(cache=True, nogil=True)
def gather(buffer, starts, ends, out, separator):  # type: ignore[no-untyped-def]
    """Copy the spans one after the other, each followed by a separator."""
    at = 0
    for span in range(len(starts)):
        for place in range(starts[span], ends[span]):
            out[at] = buffer[place]
            at += 1
        out[at] = separator
        at += 1


@njit(cache=True, nogil=True)
def hash_names(tokens, counts, firsts, lasts, part_starts, part_ends, buffer, most):  # type: ignore[no-untyped-def]
    """`analyzers.term_key` of names: the parts of their words joined by spaces; 0 if there are none or too many."""
    keys = np.zeros(len(counts), np.uint64)
    at = 0
    for name in range(len(counts)):
        hash, parts = _BASIS, 0
        for token in tokens[at : at + counts[name]]:
            for part in range(firsts[token], lasts[token]):
                if parts:
                    hash = (hash ^ np.uint64(32)) * _PRIME
                parts += 1
                for place in range(part_starts[part], part_ends[part]):
                    hash = (hash ^ np.uint64(buffer[place])) * _PRIME
        at += counts[name]
        if 0 < parts <= most:
            keys[name] = _spread(hash)
    return keys


@njit(cache=True, nogil=True)
def silent_texts(tokens, counts, term_starts):  # type: ignore[no-untyped-def]
    """The texts that have words but no terms, and where the tokens of each begin."""
    found, places = [], []
    at = 0
    for text in range(len(counts)):
        is_silent = counts[text] > 0
        for token in tokens[at : at + counts[text]]:
            if term_starts[token + 1] > term_starts[token]:
                is_silent = False
                break
        if is_silent:
            found.append(text)
            places.append(at)
        at += counts[text]
    return found, places


@njit(cache=True, nogil=True)
def count(tokens, text_counts, text_docs, text_fields, docs, term_starts, terms, distinct):  # type: ignore[no-untyped-def]
    """Postings of tokens; the terms of word w are terms[term_starts[w]:term_starts[w + 1]], numbered up to `distinct`.

    Texts of other fields than the three are left out.
    """
    total = np.int64(0)
    for token in tokens:
        total += np.int64(term_starts[token + 1]) - np.int64(term_starts[token])
    entry_terms, entry_docs, entry_tfs = _allocate(total)
    last_entry = np.full(distinct, -1, np.int32)
    lengths = np.zeros((docs, 3), np.int32)
    starts = np.zeros(distinct + 1, np.int64)
    entries = at = first_of_doc = 0
    last_doc = -1
    for text in range(len(text_counts)):
        doc, field = text_docs[text], text_fields[text]
        here, at = at, at + text_counts[text]
        if field > 2:
            continue
        if doc != last_doc:
            last_doc, first_of_doc = doc, entries
        shift, limit = np.uint32(SHIFTS[field]), np.uint32(LIMITS[field])
        one = np.uint32(1) << shift
        length = 0
        for token in tokens[here:at]:
            for place in range(np.uint64(term_starts[token]), np.uint64(term_starts[token + 1])):
                term = terms[place]
                length += 1
                entry = last_entry[term]
                if entry < first_of_doc:
                    last_entry[term] = entries
                    entry_terms[entries], entry_docs[entries], entry_tfs[entries] = term, doc, one
                    entries += 1
                elif (entry_tfs[entry] >> shift) & limit != limit:
                    entry_tfs[entry] += one
        lengths[doc, field] += length
    for entry in range(entries):
        starts[entry_terms[entry] + 1] += 1
    for term in range(distinct):
        starts[term + 1] += starts[term]
    # Two passes, each of which writes to few places at a time: first into runs of terms, then each run by its terms.
    bits = 0
    while distinct >> bits > RUNS:
        bits += 1
    out_terms, out_docs, out_tfs = _allocate(entries)
    _sort(entry_terms[:entries], entry_docs, entry_tfs, bits, starts[:: 1 << bits].copy(), out_terms, out_docs, out_tfs)
    _sort(out_terms, out_docs, out_tfs, 0, starts.copy(), entry_terms, entry_docs, entry_tfs)
    return starts, entry_docs[:entries].copy(), entry_tfs[:entries].copy(), lengths


@njit(cache=True, nogil=True)
def _sort(terms, docs, tfs, bits, free, out_terms, out_docs, out_tfs):  # type: ignore[no-untyped-def]
    """Move postings to the free places of their terms without the last bits."""
    for entry in range(np.uint64(len(terms))):
        run = terms[entry] >> np.uint32(bits)
        to = np.uint64(free[run])
        free[run] += 1
        out_terms[to], out_docs[to], out_tfs[to] = terms[entry], docs[entry], tfs[entry]
