"""The compiled loops that rank. Scores are those of `formulas.py`, to the last bit."""

import numpy as np
from numba import njit

from shortlist.index.kernels import formulas

_saturated, _scaled, _bm25l = (njit(inline="always")(gain) for gain in formulas.GAINS[:3])
_lucene, _robertson, _atire, _bm25plus_idf, _bm25l_idf = (njit(inline="always")(idf) for idf in formulas.IDFS)
_weighted = njit(inline="always")(formulas.weighted_tf)


@njit(cache=True, nogil=True)
def _push(heap, score):  # type: ignore[no-untyped-def]
    """Replace the smallest score of a heap."""
    parent, child = 0, 1
    while child < len(heap):
        if child + 1 < len(heap) and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= score:
            break
        heap[parent] = heap[child]
        parent, child = child, 2 * child + 1
    heap[parent] = score


@njit(cache=True, nogil=True, inline="always")
def _gain(numbers, tfs, lengths, at, doc):  # type: ignore[no-untyped-def]
    """The gain of the posting at a place, 0 if the fields that have the term have no weight.

    `numbers` are those of `kernel_numbers`. Lengths are added as `weighted_length` does, so that scores are equal.
    """
    weights, base, scale, code, k1, delta = numbers
    tf = _weighted(tfs[at], weights)
    if tf == 0.0:
        return 0.0
    length = weights[0] * lengths[doc, 0] + weights[1] * lengths[doc, 1] + weights[2] * lengths[doc, 2]
    norm = base + scale * length
    if code == 0:
        return _saturated(tf, norm, k1, delta)
    if code == 1:
        return _scaled(tf, norm, k1, delta)
    return _bm25l(tf, norm, k1, delta)


@njit(cache=True, nogil=True)
def _idf(code, documents, df):  # type: ignore[no-untyped-def]
    if code == 0:
        return _lucene(documents, df)
    if code == 1:
        return _robertson(documents, df)
    if code == 2:
        return _atire(documents, df)
    if code == 3:
        return _bm25plus_idf(documents, df)
    return _bm25l_idf(documents, df)


# Bounds are stored for each block of 16 passages of a frequent term, places for each stretch of 64.
BLOCK_BITS, STRETCH_BITS = 4, 6
BLOCK = 1 << BLOCK_BITS
BUCKETS = 16
SHARES = 1 << 18  # the weight of all terms of a query in the coarse sums, so that those of a block are less than 2**31
NOWHERE = np.uint32(0xFFFFFFFF)

# Numba checks a signed index for being negative; an unsigned one is used as it is.
_1, _8, _255 = np.uint64(1), np.uint16(8), np.uint16(255)
_BLOCK, _BLOCK_BITS = np.uint64(BLOCK), np.uint64(BLOCK_BITS)
_BLOCK_BITS_32, _IN_BLOCK = np.uint32(BLOCK_BITS), np.uint32(BLOCK - 1)
_STRETCH_BITS = np.uint64(STRETCH_BITS - BLOCK_BITS)
_IN_STRETCH = np.uint64((1 << (STRETCH_BITS - BLOCK_BITS)) - 1)


@njit(cache=True, nogil=True)
def _find(docs, start, end, doc):  # type: ignore[no-untyped-def]
    """Where doc is, or would be, in docs[start:end]."""
    while start < end:
        middle = (start + end) >> 1
        if docs[middle] < doc:
            start = middle + 1
        else:
            end = middle
    return start


@njit(cache=True, nogil=True)
def quantize(docs, tfs, lengths, numbers, ceiling):  # type: ignore[no-untyped-def]
    """Each posting's gain as a number from 1 to 255, rounded up; 255 is the ceiling."""
    out = np.empty(len(docs), np.uint8)
    for at in range(len(docs)):
        out[at] = min(255, int(np.ceil(_gain(numbers, tfs, lengths, at, docs[at]) / ceiling * 255.0)))
    return out


@njit(cache=True, nogil=True)
def tabulate(docs, impacts, starts, frequent, size):  # type: ignore[no-untyped-def]
    """For each frequent term: its largest impact in each block, where each stretch begins, and its postings packed
    as the passage's place in its stretch and the impact, a byte each."""
    blocks, stretches = (size + BLOCK - 1) >> BLOCK_BITS, (size + (1 << STRETCH_BITS) - 1) >> STRETCH_BITS
    total = 0
    for term in frequent:
        total += starts[term + 1] - starts[term]
    maxima = np.zeros((len(frequent), blocks), np.uint8)
    skips = np.empty((len(frequent), stretches + 1), np.uint32)
    packed = np.empty(total, np.uint16)
    written = 0
    for row in range(len(frequent)):
        term = frequent[row]
        begun = 0
        for at in range(starts[term], starts[term + 1]):
            doc, impact = docs[at], impacts[at]
            block = doc >> BLOCK_BITS
            maxima[row, block] = max(maxima[row, block], impact)
            while begun <= doc >> STRETCH_BITS:
                skips[row, begun] = written
                begun += 1
            packed[written] = (doc & ((1 << STRETCH_BITS) - 1)) << 8 | impact
            written += 1
        skips[row, begun:] = written
    return maxima, skips, packed


@njit(cache=True, nogil=True)
def _add_rows(bounds, first, weight, second, other):  # type: ignore[no-untyped-def]
    for block in range(len(bounds)):
        bounds[block] += weight * np.int32(first[block]) + other * np.int32(second[block])


@njit(cache=True, nogil=True)
def _add_to_blocks(bounds, docs, impacts, weight):  # type: ignore[no-untyped-def]
    before, most = NOWHERE, np.int32(0)
    for at in range(np.uint64(len(docs))):
        block, impact = np.uint32(docs[at]) >> _BLOCK_BITS_32, np.int32(impacts[at])
        most = most if block == before else np.int32(0)
        bounds[block] += weight * max(impact - most, np.int32(0))
        before, most = block, max(impact, most)


@njit(cache=True, nogil=True)
def _add_to_slots(scores, slots, docs, impacts, weight):  # type: ignore[no-untyped-def]
    for at in range(np.uint64(len(docs))):
        doc = np.uint32(docs[at])
        slot = slots[doc >> _BLOCK_BITS_32]
        if slot != NOWHERE:
            scores[(slot << _BLOCK_BITS_32) + (doc & _IN_BLOCK)] += weight * np.int32(impacts[at])


@njit(cache=True, nogil=True)
def _largest(values):  # type: ignore[no-untyped-def]
    best = np.int32(0)
    for at in range(len(values)):
        best = max(best, values[at])
    return best


@njit(cache=True, nogil=True)
def _visit(blocks, terms, tables, room, heap, alive, found, sure):  # type: ignore[no-untyped-def]
    """Finish the scores of blocks, term by term, as long as a block can still contain one of the best passages."""
    weights, rows, order = terms
    maxima, skips, packed = tables
    frequent_bounds, bounds, _, _, _, scores, places, most = room
    error = weights.sum() + 255 * len(weights)
    flat_maxima, flat_skips = maxima.reshape(-1), skips.reshape(-1)
    row_size, skips_size = np.uint64(maxima.shape[1]), np.uint64(skips.shape[1])
    for slot in range(np.uint64(len(blocks))):
        block = np.uint64(blocks[slot])
        best = heap[0]
        if bounds[block] < best:
            continue
        here = slot << _BLOCK_BITS
        first = (block & _IN_STRETCH) << _BLOCK_BITS
        left = frequent_bounds[block]
        top = np.int32(0)
        for doc in range(_BLOCK):
            top = max(top, scores[here + doc])
        for number in range(np.uint64(len(order))):
            if top + left < best or left == 0:
                break
            term = np.uint64(order[number])
            row = np.uint64(rows[term])
            maximum = flat_maxima[row * row_size + block]
            if maximum == 0:
                continue
            skip = row * skips_size + (block >> _STRETCH_BITS)
            for at in range(np.uint64(flat_skips[skip]), np.uint64(flat_skips[skip + _1])):
                place = here + np.uint64(packed[at] >> _8) - first
                if place - here < _BLOCK:
                    scores[place] += weights[term] * np.int32(packed[at] & _255)
                    top = max(top, scores[place])
            left -= weights[term] * np.int32(maximum)
        if top + left < best:
            continue
        for doc in range(_BLOCK):
            score = scores[here + doc]
            place = (block << _BLOCK_BITS) + doc
            if score >= heap[0] and (len(alive) == 0 or alive[place]):
                places[found], most[found] = place, score
                found += 1
                least = np.int32(sure * (score - error))
                if least > heap[0]:
                    _push(heap, least)
    return found


@njit(cache=True, nogil=True)
def _best_of_stripes(bounds, stripes, least, blocks):  # type: ignore[no-untyped-def]
    """Write the block with the highest bound of each run of blocks; their number."""
    count = 0
    width = max(1, len(bounds) // stripes)
    for start in range(0, len(bounds), width):
        stripe = bounds[start : start + width]
        best = _largest(stripe)
        if best >= least:
            at = 0
            while stripe[at] != best:
                at += 1
            blocks[count] = start + at
            count += 1
    return count


@njit(cache=True, nogil=True)
def _by_bound(bounds, least, live, blocks):  # type: ignore[no-untyped-def]
    """Write the blocks whose bound reaches `least`, roughly the highest first; their number."""
    count = np.uint64(0)
    for block in range(np.uint64(len(bounds))):
        live[count] = block
        count += np.uint64(bounds[block] >= least)
    scale = np.float32(BUCKETS - 1) / max(_largest(bounds) - least, 1)
    free = np.zeros(BUCKETS + 1, np.int64)
    for number in range(count):
        free[BUCKETS - int((bounds[live[number]] - least) * scale)] += 1
    for bucket in range(BUCKETS):
        free[bucket + 1] += free[bucket]
    for number in range(count):
        block = live[number]
        bucket = BUCKETS - 1 - int((bounds[block] - least) * scale)
        blocks[free[bucket]] = block
        free[bucket] += 1
    return np.int64(count)


@njit(cache=True, nogil=True)
def _shortlist(docs, impacts, spans, terms, tables, sure, least, stripes, alive, heap, room):  # type: ignore[no-untyped-def]
    """Write the passages that may be among the best len(heap), and the most that each can score; their number.

    Largest impacts and the postings of rare terms bound the score in a block. The highest blocks are read first, and
    the scores found there rule out most others. A score is at least `sure` of itself minus one step of every term.
    `least` is a known k-th best score. Terms have weights and rows in the tables, -1 for rare ones; `order` lists the
    others by weight. The slots of `room` are NOWHERE before and after.
    """
    starts, ends = spans
    weights, rows, order = terms
    maxima, _, _ = tables
    frequent_bounds, bounds, slots, live, blocks, scores, places, most = room
    heap[:] = max(least, 1)
    frequent_bounds[:] = 0
    for number in range(0, len(order), 2):
        term, other = order[number], order[min(number + 1, len(order) - 1)]
        weight = weights[other] if other != term else np.int32(0)
        _add_rows(frequent_bounds, maxima[rows[term]], weights[term], maxima[rows[other]], weight)
    bounds[:] = frequent_bounds
    for term in range(len(starts)):
        if rows[term] < 0:
            here = slice(starts[term], ends[term])
            _add_to_blocks(bounds, docs[here], impacts[here], weights[term])
    if len(alive):
        for block in range(len(bounds)):
            if not alive[block << BLOCK_BITS : (block + 1) << BLOCK_BITS].any():
                bounds[block] = 0
    found = 0
    for turn in range(2):
        if turn == 0:
            count = _best_of_stripes(bounds, stripes, heap[0], blocks)
        else:
            count = _by_bound(bounds, heap[0], live, blocks)
        scores[: count << BLOCK_BITS] = 0
        for slot in range(count):
            slots[blocks[slot]] = slot
        for term in range(len(starts)):
            if rows[term] < 0:
                here = slice(starts[term], ends[term])
                _add_to_slots(scores, slots, docs[here], impacts[here], weights[term])
        found = _visit(blocks[:count], terms, tables, room, heap, alive, found, sure)
        for slot in range(count):
            slots[blocks[slot]], bounds[blocks[slot]] = NOWHERE, 0
    kept = 0
    for number in range(found):
        if most[number] >= heap[0]:
            places[kept], most[kept] = places[number], most[number]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def _settle(places, most, k, postings, spans, weights, rows, skips, numbers):  # type: ignore[no-untyped-def]
    """The best k of some places and those that tie with the last, best first, then by place, with their exact scores.

    Places are scored, those that can score most first, until none that is left can reach the k-th best. The terms are
    added in the order given, as numpy adds them.
    """
    docs, tfs, lengths = postings
    starts, ends = spans
    order = np.argsort(-most)
    scores = np.zeros(len(places))
    heap = np.full(k, -np.inf)
    scored = 0
    for number in order:
        if most[number] * 1.0001 < heap[0]:
            break
        doc = np.int64(places[number])
        score = 0.0
        for term in range(len(starts)):
            start, end = starts[term], ends[term]
            if rows[term] >= 0:
                here, stretch = skips[rows[term]], doc >> STRETCH_BITS
                start, end = start + here[stretch] - here[0], start + here[stretch + 1] - here[0]
            place = _find(docs, start, end, doc)
            if place < end and docs[place] == doc:
                score += weights[term] * _gain(numbers, tfs, lengths, place, doc)
        scores[scored] = score
        scored += 1
        if score > heap[0]:
            _push(heap, score)
    return _sort_best(places[order[:scored]].astype(np.int64), scores[:scored], heap[0])


@njit(cache=True, nogil=True)
def _sort_best(places, scores, least):  # type: ignore[no-untyped-def]
    """The places with at least this score, best first, then by place. There are few, so this is an insertion sort."""
    kept = 0
    for number in range(len(places)):
        place, score = places[number], scores[number]
        if score >= least:
            at = kept
            while at > 0 and (scores[at - 1] < score or (scores[at - 1] == score and places[at - 1] > place)):
                places[at], scores[at] = places[at - 1], scores[at - 1]
                at -= 1
            places[at], scores[at] = place, score
            kept += 1
    return places[:kept], scores[:kept]


@njit(cache=True, nogil=True)
def look_at(places, terms, weights, postings, numbers):  # type: ignore[no-untyped-def]
    """The score of each of these passages, and the weight of the terms that it has."""
    docs, tfs, lengths = postings
    scores, held = np.zeros(len(places)), np.zeros(len(places))
    for number in range(len(places)):
        doc = places[number]
        for term in range(len(weights)):
            end = terms[2][term]
            at = _find(docs, terms[1][term], end, doc)
            if at < end and docs[at] == doc:
                held[number] += weights[term]
                scores[number] += weights[term] * _gain(numbers, tfs, lengths, at, doc)
    return scores, held


@njit(cache=True, nogil=True)
def best(terms, weights, prepared, least, k, stripes, alive, room):  # type: ignore[no-untyped-def]
    """The best k passages of a part and those that tie with the last, best first, then by place, and their scores.

    Terms have places among all of the part, starts and ends of postings, and weights; those of weight 0 are left out.
    An impact of 1 is worth `step` times the weight, if lengths are normalized as when impacts were computed; `drift` is
    the ratio of both norms. `least` is a score that the k-th best has in any case.
    """
    postings, (values, frequent), tables, numbers, step, drift = prepared
    held, ordered = 0, 0
    total = max(weights.sum(), 1e-300)
    places, starts, ends = terms[0].copy(), terms[1].copy(), terms[2].copy()
    shares, rows, kept = np.empty(len(places), np.int32), np.empty(len(places), np.int64), np.empty(len(places))
    order = np.empty(len(places), np.int64)
    for term in range(len(places)):
        if ends[term] > starts[term] and weights[term] > 0:
            row = _find(frequent, 0, len(frequent), places[term])
            starts[held], ends[held], kept[held] = starts[term], ends[term], weights[term]
            shares[held] = np.ceil(weights[term] * (SHARES / total))
            rows[held] = -1
            if row < len(frequent) and frequent[row] == places[term]:
                rows[held] = row
                at = ordered
                while at > 0 and shares[order[at - 1]] < shares[held]:
                    order[at] = order[at - 1]
                    at -= 1
                order[at] = held
                ordered += 1
            held += 1
    if held == 0:
        return np.empty(0, np.int64), np.empty(0)
    spans = starts[:held], ends[:held]
    unit = total / SHARES * step * max(1.0, drift) * 1.0001
    sure = np.float32(0.9998 * min(1.0, drift) / max(1.0, drift))
    coarse = shares[:held], rows[:held], order[:ordered]
    known = np.int32(min(0.9998 * least / unit, 2.0**31 - 1))
    heap = np.empty(k, np.int32)
    found = _shortlist(postings[0], values, spans, coarse, tables, sure, known, stripes, alive, heap, room)
    most = room[7][:found] * unit
    return _settle(room[6][:found], most, k, postings, spans, kept[:held], rows[:held], tables[1], numbers)


@njit(cache=True, nogil=True)
def best_of_keys(keys, part_keys, part_starts, idf, documents, prepared, k, stripes, alive, room):  # type: ignore[no-untyped-def]
    """The result of `best` for the keys of a query, if there is one part and nothing in it is deleted."""
    terms = np.empty((3, len(keys)), np.int64)
    asked = np.empty(len(keys), np.uint64)
    weights = np.zeros(len(keys))
    known = 0
    for key in keys:
        same = 0
        while same < known and asked[same] != key:
            same += 1
        if same == known:
            at = _find(part_keys, 0, len(part_keys), key)
            if at == len(part_keys) or part_keys[at] != key:
                continue
            asked[known] = key
            terms[0, known], terms[1, known], terms[2, known] = at, part_starts[at], part_starts[at + 1]
            known += 1
        weights[same] += 1.0
    for term in range(known):
        weights[term] *= _idf(idf, documents, terms[2, term] - terms[1, term])
    found = terms[0, :known], terms[1, :known], terms[2, :known]
    return best(found, weights[:known], prepared, 0.0, k, stripes, alive, room)
