/* One step of some rows of one layer, in one pass: what Rows._through does in a dozen.
 *
 * Rows lie (word, sentence); what sentences share has a row for each of them. Gates are i f g in
 * 3H. M is in units of log 2. See differences.py for the identity, whose bound on S is checked
 * before this is called: with it c is above 0, and cutting u off at 2^63 changes nothing that
 * single precision can hold, while u * u stays finite.
 */
#include <stdint.h>
#include <string.h>

#define LOG2E 1.44269504f

static inline float within(float x, float low, float high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

/* 2^x by a polynomial on [-1/2, 1/2] (Cephes' coefficients), to about an ulp; 2^63 at most, and 0
 * where it would be no normal number. */
static inline float power_of_two(float given) {
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number */
    float x = within(given, -126.0f, 63.0f);
    float rounded = x + magic, f = x - (rounded - magic), p = 1.535336188e-4f;
    p = p * f + 1.339887440e-3f;
    p = p * f + 9.618437357e-3f;
    p = p * f + 5.550332471e-2f;
    p = p * f + 2.402264791e-1f;
    p = p * f + 6.931472029e-1f;
    p = p * f + 1.0f;
    uint32_t whole, bits;
    memcpy(&whole, &rounded, 4);
    memcpy(&bits, &p, 4);
    bits += whole << 23;
    memcpy(&p, &bits, 4);
    return given < -126.0f ? 0.0f : p;
}

/* 1 - d */
static inline float remainder_of(float u, float centre) {
    float common = centre + (1.0f + centre) * u;
    return (common + centre) / (common + u * u);
}

static void gates(const float *restrict alone, const float *restrict together,
                  const float *restrict offset, const float *restrict centre,
                  const float *restrict level, const float *restrict own,
                  float *restrict z0, float *restrict z1, long width) {
    if (own)
        for (long j = 0; j < width; j++) {
            float moved = alone[j] + offset[j];
            z0[j] = level[j] - remainder_of(power_of_two(moved), centre[j]);
            z1[j] = level[j] - remainder_of(power_of_two(moved + own[j]), centre[j]);
        }
    else
        for (long j = 0; j < width; j++) {
            z0[j] = level[j] - remainder_of(power_of_two(alone[j] + offset[j]), centre[j]);
            z1[j] = level[j] - remainder_of(power_of_two(together[j] + offset[j]), centre[j]);
        }
}

/* Eight sums side by side: one after another they would wait for each other. */
#define LANES 8

static float sum_of(const float *lanes) {
    float sum = 0.0f;
    for (int k = 0; k < LANES; k++) sum += lanes[k];
    return sum;
}

static void output(const float *restrict z0, const float *restrict z1, float *restrict cell,
                   const float *const *shared, long narrow, float *restrict h0,
                   float *restrict h1, long units) {
    const float *restrict minus_biases = shared[4], *restrict minus_cell = shared[5] + narrow;
    const float *restrict centre = shared[6] + narrow, *restrict level = shared[7] + narrow;
    const float *restrict weight = shared[8] + narrow;
    for (long j = 0; j < units; j++) {
        float half = 0.5f * cell[j], i0 = z0[j], f0 = z0[units + j], g0 = z0[2 * units + j];
        float i1 = z1[j], f1 = z1[units + j], g1 = z1[2 * units + j];
        float kept = minus_biases[j] + LOG2E * i0 * g0 + f0 * half;
        float paired = minus_cell[j] + LOG2E * i1 * g1 + f1 * half;
        cell[j] = kept;
        float u0 = power_of_two(kept + minus_cell[j]), u1 = power_of_two(paired);
        h0[j] = level[j] - weight[j] * remainder_of(u0, centre[j]);
        h1[j] = level[j] - weight[j] * remainder_of(u1, centre[j]);
    }
}

/* The squared lengths of h1 - h0 - single and of h1. */
static void squares(const float *restrict h0, const float *restrict h1,
                    const float *restrict single, float *restrict apart, float *restrict joint,
                    long units) {
    float apart_lanes[LANES] = {0}, joint_lanes[LANES] = {0};
    long j = 0;
    for (; j + LANES <= units; j += LANES)
        for (int k = 0; k < LANES; k++) {
            float rest = h1[j + k] - h0[j + k] - single[j + k];
            apart_lanes[k] += rest * rest;
            joint_lanes[k] += h1[j + k] * h1[j + k];
        }
    for (; j < units; j++) {
        float rest = h1[j] - h0[j] - single[j];
        apart_lanes[0] += rest * rest;
        joint_lanes[0] += h1[j] * h1[j];
    }
    *apart = sum_of(apart_lanes);
    *joint = sum_of(joint_lanes);
}

/* Rows `first` to `end`; `alone`, and `together` where it is given, begin with the first of them,
 * everything else with row 0. `shared`: offset, centre, level, own (or NULL: then `together` is
 * given), minus_biases, minus_cell, the output's centre, level and weight, and single. `squared`
 * has two numbers a row; `scratch` has room for 6 * units. */
void espalier_through(long first, long end, long sentences, long units, const float *alone,
                      const float *together, const float *const *shared, float *cell, float *h0,
                      float *h1, float *squared, float *scratch) {
    for (long row = first; row < end; row++) {
        long s = row % sentences, wide = s * 3 * units, narrow = s * units, at = row * units;
        long here = (row - first) * 3 * units;
        gates(alone + here, together ? together + here : 0, shared[0] + wide, shared[1] + wide,
              shared[2] + wide, shared[3] ? shared[3] + wide : 0, scratch, scratch + 3 * units,
              3 * units);
        output(scratch, scratch + 3 * units, cell + at, shared, narrow, h0 + at, h1 + at, units);
        squares(h0 + at, h1 + at, shared[9] + narrow, squared + 2 * row, squared + 2 * row + 1,
                units);
    }
}
