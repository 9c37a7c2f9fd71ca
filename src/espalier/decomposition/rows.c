/* All pairs in single precision: what the rows of a step share, and a step of the rows.
 *
 * What `shared.share_step` and `Rows._through` do in a dozen passes over memory each is done here
 * in one. See differences.py for the identity. M and its like are in units of log 2. Gates are
 * i f g in 3H, i f g o in 4H. Loops are kept short and plain: a compiler turns them into vectors,
 * and a core can have several turns of one under way at once.
 */
#include "power.h"

#define LOG2E 1.44269504f
/* 2|S| and a word's own input are checked to be within it: c is then a number with all its digits,
 * and so is what is left of u beside it where 2^-126 is put for less. */
#define REACH 100.0f

/* What a sentence's rows share at a step, one after another, in units of the hidden size. */
enum { OFFSET = 0, ALONE = 3, PAIRED = 6, CENTRE = 9, LEVEL = 12, MINUS_CELL = 15, OUT_CENTRE,
       OUT_LEVEL, OUT_WEIGHT, SINGLE, SINGLE_CELL, SHARED };

static inline float logistic(float x) { return 1.0f / (1.0f + power_of_two(-LOG2E * x)); }

/* 1 - d; where u * u is infinite it is 0, as it should be. */
static inline float remainder_of(float u, float centre) {
    float common = centre + (1.0f + centre) * u;
    return (common + centre) / (common + u * u);
}

/* |x| as a whole number: in the same order, and what is no number comes last. */
static inline uint32_t size_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits & 0x7fffffffu;
}

static inline uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* What rows need of one gate of one sentence, its value, and what the word alone makes of it. */
static uint32_t share_gate(const float *restrict past, const float *restrict given,
                           const float *restrict input,
                           const float *restrict bias, const float *restrict squashed,
                           float *restrict shared, float *restrict value, float *restrict alone,
                           long units, float doubled, float more) {
    uint32_t size = 0;
#pragma GCC ivdep /* what lies `units` apart does not overlap */
    for (long j = 0; j < units; j++) {
        float c = doubled * bias[j], t = doubled * (past[j] + given[j]) + c;
        float own = LOG2E * doubled * input[j];
        float twice = LOG2E * (t + c), width = twice < 0 ? -twice : twice;
        float moved = 0.5f * (LOG2E * (c - t) - width), centre = power_of_two(-width);
        float smaller = power_of_two(own < 0 ? own : -own);
        float level = (value[j] = logistic(t)) + squashed[j] + more;
        shared[OFFSET * units + j] = moved + (own > 0 ? own : 0.0f);
        shared[ALONE * units + j] = own > 0 ? smaller : 1.0f;
        shared[PAIRED * units + j] = own > 0 ? 1.0f : smaller;
        shared[CENTRE * units + j] = centre;
        shared[LEVEL * units + j] = level;
        alone[j] = level - remainder_of(power_of_two(moved + own), centre);
        size = larger(size, larger(size_of(twice), size_of(own)));
    }
    return size;
}

/* The same of the output; hidden state and cell are moved on. `value` and `alone` are i f g. */
static uint32_t share_output(const float *restrict past, const float *restrict given,
                             const float *restrict bias,
                             const float *restrict value, const float *restrict alone,
                             float *restrict hidden, float *restrict cell,
                             float *restrict shared, long units) {
    uint32_t size = 0;
#pragma GCC ivdep /* what lies `units` apart does not overlap */
    for (long j = 0; j < units; j++) {
        float written = value[j] * (2.0f * value[2 * units + j] - 1.0f);
        float out = logistic(past[j] + given[j] + bias[j]);
        float c = cell[j] = value[units + j] * cell[j] + written;
        float h = hidden[j] = out * (2.0f * logistic(2.0f * c) - 1.0f), level = out + 0.5f * h;
        float width = LOG2E * (c < 0 ? -c : c), moved = -LOG2E * c - width;
        float centre = power_of_two(-2.0f * width);
        float single = LOG2E * alone[j] * alone[2 * units + j];
        shared[MINUS_CELL * units + j] = moved;
        shared[OUT_CENTRE * units + j] = centre;
        shared[OUT_LEVEL * units + j] = level;
        shared[OUT_WEIGHT * units + j] = out;
        shared[SINGLE * units + j] =
            level - out * remainder_of(power_of_two(single + moved), centre);
        shared[SINGLE_CELL * units + j] = single;
        size = larger(size, size_of(2.0f * width));
    }
    return size;
}

/* For each sentence from V h, its rows `stride` apart, W x and the word's own input, (S, 4H): what
 * its rows share, (S, SHARED * H); its hidden state and cell are moved on. `bias` is C, `squashed`
 * s(C) of three gates; `scratch` has room for 6 * units. Whether all of it is within reach. */
int espalier_share(long sentences, long units, long stride, const float *past, const float *given,
                   const float *input, const float *bias, const float *squashed, float *hidden,
                   float *cell, float *shared, float *scratch) {
    float *value = scratch, *alone = scratch + 3 * units;
    uint32_t size = 0;
    for (long s = 0; s < sentences; s++) {
        for (long gate = 0; gate < 3; gate++) {
            long here = gate * units;
            float doubled = gate == 2 ? 2.0f : 1.0f, more = gate == 2 ? 0.0f : 1.0f;
            size = larger(size, share_gate(past + here, given + here, input + here, bias + here,
                                           squashed + here, shared + here, value + here,
                                           alone + here, units, doubled, more));
        }
        size = larger(size, share_output(past + 3 * units, given + 3 * units, bias + 3 * units,
                                         value, alone, hidden, cell, shared, units));
        past += stride, given += 4 * units, input += 4 * units, shared += SHARED * units;
        hidden += units, cell += units;
    }
    return size <= size_of(REACH);
}

/* u of one continuation. */
static void open(const float *restrict moved, const float *restrict offset,
                 const float *restrict alone, float *restrict u, long width) {
    for (long j = 0; j < width; j++) u[j] = power_of_two(moved[j] + offset[j]) * alone[j];
}

/* u of both where they differ by the word's own input. One exponential does for them, that of the
 * larger: what is lost of it is lost of the smaller too. */
static void open_both(const float *restrict moved, const float *restrict offset,
                      const float *restrict alone, const float *restrict paired,
                      float *restrict u0, float *restrict u1, long width) {
    for (long j = 0; j < width; j++) {
        float u = power_of_two(moved[j] + offset[j]);
        u0[j] = u * alone[j];
        u1[j] = u * paired[j];
    }
}

/* u becomes i_r + i_b and its like. */
static void settle(float *restrict u0, float *restrict u1, const float *restrict centre,
                   const float *restrict level, long width) {
    for (long j = 0; j < width; j++) {
        u0[j] = level[j] - remainder_of(u0[j], centre[j]);
        u1[j] = level[j] - remainder_of(u1[j], centre[j]);
    }
}

/* The cells that are kept, and u of both for the output. */
static void move_cells(const float *restrict z0, const float *restrict z1, float *restrict cell,
                       const float *restrict minus_biases, const float *restrict minus_cell,
                       float *restrict u0, float *restrict u1, long units) {
    for (long j = 0; j < units; j++) {
        float half = 0.5f * cell[j];
        float kept = minus_biases[j] + LOG2E * z0[j] * z0[2 * units + j] + half * z0[units + j];
        float paired = minus_cell[j] + LOG2E * z1[j] * z1[2 * units + j] + half * z1[units + j];
        cell[j] = kept;
        u0[j] = power_of_two(kept + minus_cell[j]);
        u1[j] = power_of_two(paired);
    }
}

/* Both hidden states, and the squared lengths of h1 - h0 - single and of h1. */
static void output(const float *restrict u0, const float *restrict u1,
                   const float *restrict shared, float *restrict h0, float *restrict h1,
                   float *restrict squared, long units) {
    const float *centre = shared + OUT_CENTRE * units, *level = shared + OUT_LEVEL * units;
    const float *weight = shared + OUT_WEIGHT * units, *single = shared + SINGLE * units;
    float apart = 0.0f, joint = 0.0f;
#pragma omp simd reduction(+ : apart, joint)
    for (long j = 0; j < units; j++) {
        float alone = level[j] - weight[j] * remainder_of(u0[j], centre[j]);
        float both = level[j] - weight[j] * remainder_of(u1[j], centre[j]);
        float rest = both - alone - single[j];
        apart += rest * rest;
        joint += both * both;
        h0[j] = alone;
        h1[j] = both;
    }
    squared[0] = apart;
    squared[1] = joint;
}

/* One row. */
static void through(const float *shared, const float *minus_biases, const float *alone,
                    const float *together, float *cell, float *h0, float *h1, float *squared,
                    float *scratch, long units) {
    float *z0 = scratch, *z1 = z0 + 3 * units, *u0 = z1 + 3 * units, *u1 = u0 + units;
    const float *offset = shared + OFFSET * units, *factor = shared + ALONE * units;
    if (together) {
        open(alone, offset, factor, z0, 3 * units);
        open(together, offset, factor, z1, 3 * units);
    } else
        open_both(alone, offset, factor, shared + PAIRED * units, z0, z1, 3 * units);
    settle(z0, z1, shared + CENTRE * units, shared + LEVEL * units, 3 * units);
    move_cells(z0, z1, cell, minus_biases, shared + MINUS_CELL * units, u0, u1, units);
    output(u0, u1, shared, h0, h1, squared, units);
}

/* Rows `first` to `end`, which lie (word, sentence). V h of them begins with the first of them, for
 * both in `alone` or, where their inputs differ, as {l, r} in `together`; all else begins with row
 * 0. `squared` has two numbers a row; `scratch` has room for 8 * units. Those of a sentence are taken
 * one after another, while what they share is at hand. */
void espalier_through(long first, long end, long sentences, long units, long stride,
                      const float *alone, const float *together, const float *all_shared,
                      const float *minus_biases, float *cell, float *h0, float *h1,
                      float *squared, float *scratch) {
    for (long k = 0; k < sentences; k++) {
        const float *shared = all_shared + (first + k) % sentences * SHARED * units;
        for (long row = first + k; row < end; row += sentences)
            through(shared, minus_biases, alone + (row - first) * stride,
                    together ? together + (row - first) * stride : 0, cell + row * units,
                    h0 + row * units, h1 + row * units, squared + 2 * row, scratch, units);
    }
}
