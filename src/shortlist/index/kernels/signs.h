/* Estimates of products, which `vectors.c` uses to pass over most vectors. */
#ifndef SHORTLIST_SIGNS_H
#define SHORTLIST_SIGNS_H

#include "loops.h"

enum { SIGN_BLOCK = 64 };

/* What a query adds for each four bits of a vector, in steps, above `base`. The caller frees the tables. */
typedef struct {
    uint8_t *tables;
    float step, base;
} TabulatedQuery;

TabulatedQuery tabulate_query(const float *query, int64_t size);

/* Write what products of the vectors of a block with a query are likely not above; return the highest of those that
   are allowed. */
float estimate_block(const uint8_t *signs, const float *factors, int64_t start, int64_t end, int64_t size,
                     const TabulatedQuery *query, const uint8_t *allowed, float *likely);

#endif
