/* Rows times weights in single precision, for cores with 32 registers of four numbers. Elsewhere
 * there is nothing here, and PyTorch's product is used.
 *
 * All three matrices are seen as quarters, and seven products of quarters do for eight (Strassen
 * 1969). Sums of the weights' quarters are made once. Those of the rows are made while rows are
 * laid out for a product, and its result is added where it belongs straight from the registers, so
 * that hardly more memory is gone through than without. Where only a sum over each row of a product
 * is wanted, it is made while the product is still in the cache, and the product is not kept.
 */
#ifdef __aarch64__
#include <arm_neon.h>

#include "power.h"

typedef float lanes __attribute__((vector_size(16), aligned(4)));

/* Rows and columns of a tile: its sums take 24 registers. */
#define TALL 12
#define WIDE 8
/* Rows whose results stay in a core's cache, and steps that weights are called for beforehand. */
#define AT_ONCE (16 * TALL)
#define AHEAD 32
/* Loops over registers must vanish. */
#define EACH _Pragma("GCC unroll 12")

/* Quarters are numbered 0 1 above and 2 3 below. */
enum { NONE = -1 };
enum how { SET, ADD, SUBTRACT };

struct target {
    int quarter;
    enum how how;
};

/* One of the seven: quarters of the rows, the other with a sign, and where the product goes. */
static const struct {
    int one, other;
    float sign;
    struct target into[2];
} SEVEN[7] = {
    {0, 3, 1.0f, {{0, SET}, {3, SET}}},       {2, 3, 1.0f, {{2, SET}, {3, SUBTRACT}}},
    {0, 0, 0.0f, {{1, SET}, {3, ADD}}},       {3, 3, 0.0f, {{0, ADD}, {2, ADD}}},
    {0, 1, 1.0f, {{0, SUBTRACT}, {1, ADD}}},  {2, 0, -1.0f, {{3, ADD}, {NONE, ADD}}},
    {1, 3, -1.0f, {{0, ADD}, {NONE, ADD}}},
};

/* Rows, the units of each, how far apart they begin, and panels of weights. */
struct sizes {
    long count, units, apart, panels;
};

static inline void put(lanes sums[TALL][2], enum how how, float *restrict out, long stride) {
    if (how == SET) {
        EACH for (int i = 0; i < TALL; i++)
            EACH for (int j = 0; j < 2; j++) *(lanes *)(out + i * stride + 4 * j) = sums[i][j];
        return;
    }
    float sign = how == ADD ? 1.0f : -1.0f;
    EACH for (int i = 0; i < TALL; i++)
        EACH for (int j = 0; j < 2; j++) *(lanes *)(out + i * stride + 4 * j) += sign * sums[i][j];
}

/* A tile of a product, from TALL rows, four by four, and WIDE columns, put into one or two. */
static void tile(const float *restrict rows, const float *restrict columns, long depth,
                 float *const out[2], const struct target *into, long stride) {
    for (int k = 0; k < 2 && out[k]; k++)
        for (int i = 0; i < TALL; i++) __builtin_prefetch(out[k] + i * stride, 1);
    lanes sums[TALL][2];
    EACH for (int i = 0; i < TALL; i++) sums[i][0] = sums[i][1] = (lanes){0};
    for (long k = 0; k < depth; k++, rows += 4, columns += WIDE) {
        lanes left[TALL / 4], right[2];
        __builtin_prefetch(columns + AHEAD * WIDE);
        EACH for (int i = 0; i < TALL / 4; i++) left[i] = *(const lanes *)(rows + 4 * i * depth);
        EACH for (int j = 0; j < 2; j++) right[j] = *(const lanes *)(columns + 4 * j);
        EACH for (int i = 0; i < TALL; i++)
            EACH for (int j = 0; j < 2; j++) sums[i][j] += left[i / 4][i % 4] * right[j];
    }
    put(sums, into[0].how, out[0], stride);
    if (out[1]) put(sums, into[1].how, out[1], stride);
}

/* TALL rows of two quarters added up, four by four side by side. `left` of each are there; the last
 * of all rows stands in for those that are missing. */
static void lay_out(const float *const from[2], const long left[2], float sign, long stride,
                    long depth, float *restrict laid) {
    for (long row = 0; row < TALL; row += 4, laid += 4 * depth) {
        const float *one[4], *other[4];
        for (long i = 0; i < 4; i++) {
            one[i] = from[0] + (row + i < left[0] ? row + i : left[0] - 1) * stride;
            other[i] = from[1] + (row + i < left[1] ? row + i : left[1] - 1) * stride;
        }
        long k = 0;
        for (; k + 4 <= depth; k += 4) {
            float32x4x4_t four;
            EACH for (int i = 0; i < 4; i++)
                four.val[i] = vld1q_f32(one[i] + k) + sign * vld1q_f32(other[i] + k);
            vst4q_f32(laid + 4 * k, four);
        }
        for (; k < depth; k++)
            for (int i = 0; i < 4; i++) laid[4 * k + i] = one[i][k] + sign * other[i][k];
    }
}

/* The seven products of some rows, half of them above and half below. */
static void multiply(struct sizes sizes, const float *rows, const float *weights, float *out,
                     float *scratch) {
    long half = (sizes.count + 2 * TALL - 1) / (2 * TALL) * TALL, depth = sizes.units / 2;
    long across = sizes.panels * WIDE, stride = 2 * across;
    for (int number = 0; number < 7; number++, weights += depth * across) {
        int quarters[2] = {SEVEN[number].one, SEVEN[number].other};
        const struct target *into = SEVEN[number].into;
        for (long row = 0; row < half; row += TALL) {
            const float *from[2];
            long left[2];
            float *to[2] = {0};
            for (int k = 0; k < 2; k++) {
                long first = row + (quarters[k] / 2 ? half : 0);
                from[k] = rows + first * sizes.apart + (quarters[k] % 2 ? depth : 0);
                left[k] = sizes.count - first;
                if (into[k].quarter != NONE)
                    to[k] = out + (row + (into[k].quarter / 2 ? half : 0)) * stride +
                            (into[k].quarter % 2 ? across : 0);
            }
            lay_out(from, left, SEVEN[number].sign, sizes.apart, depth, scratch);
            for (long panel = 0; panel < sizes.panels; panel++) {
                float *here[2] = {to[0] + panel * WIDE, to[1] ? to[1] + panel * WIDE : 0};
                tile(scratch, weights + panel * WIDE * depth, depth, here, into, stride);
            }
        }
    }
}

static struct sizes some_of(struct sizes all, long first) {
    all.count = all.count - first < AT_ONCE ? all.count - first : AT_ONCE;
    return all;
}

static float sum_of_powers(const float *restrict row, const float *restrict bias, long width) {
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (long j = 0; j < width; j++) sum += power_of_two(row[j] + bias[j]);
    return sum;
}

static float sum_of_squares(const float *row, long width) {
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (long j = 0; j < width; j++) sum += row[j] * row[j];
    return sum;
}

/* `units` are even. `weights` are the seven sums of quarters, each in `panels` of WIDE columns,
 * (7, panels, units / 2, WIDE). `out` has room for a multiple of 2 * TALL rows of 2 * panels * WIDE,
 * `scratch` for TALL * units / 2. Some rows at a time, so that their results stay in the cache. */
void espalier_product(struct sizes sizes, const float *rows, const float *weights, float *out,
                      float *scratch) {
    for (long row = 0; row < sizes.count; row += AT_ONCE)
        multiply(some_of(sizes, row), rows + row * sizes.apart, weights,
                 out + row * 2 * sizes.panels * WIDE, scratch);
}

/* The same, of which only the sum of 2^(product + bias) over each row is added to `sums`. `held` has
 * room for AT_ONCE rows of the product beside the scratch. */
void espalier_powers(struct sizes sizes, const float *rows, const float *weights, float *held,
                     const float *bias, float *sums) {
    float *out = held + TALL * sizes.units / 2;
    long width = 2 * sizes.panels * WIDE;
    for (long row = 0; row < sizes.count; row += AT_ONCE) {
        struct sizes some = some_of(sizes, row);
        multiply(some, rows + row * sizes.apart, weights, out, held);
        for (long i = 0; i < some.count; i++)
            sums[row + i] += sum_of_powers(out + i * width, bias, width);
    }
}

/* And the sum of squares. */
void espalier_squares(struct sizes sizes, const float *rows, const float *weights, float *held,
                      float *sums) {
    float *out = held + TALL * sizes.units / 2;
    long width = 2 * sizes.panels * WIDE;
    for (long row = 0; row < sizes.count; row += AT_ONCE) {
        struct sizes some = some_of(sizes, row);
        multiply(some, rows + row * sizes.apart, weights, out, held);
        for (long i = 0; i < some.count; i++) sums[row + i] += sum_of_squares(out + i * width, width);
    }
}
#endif
