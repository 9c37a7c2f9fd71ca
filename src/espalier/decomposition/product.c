/* Rows times weights in single precision, for cores with 32 registers of four numbers. Elsewhere
 * there is nothing here, and PyTorch's product is used.
 *
 * All three matrices are seen as quarters, and seven products of quarters do for eight (Strassen
 * 1969). Sums of the weights' quarters are made once. Those of the rows are made while rows are
 * laid out for a product, and its result is added where it belongs straight from the registers, so
 * that hardly more memory is gone through than without.
 */
#ifdef __aarch64__
typedef float lanes __attribute__((vector_size(16), aligned(4)));

/* Rows and columns of a tile: its sums take 24 registers. */
#define TALL 12
#define WIDE 8
/* Loops over registers must vanish. */
#define EACH _Pragma("GCC unroll 12")

/* Quarters are numbered 0 1 above and 2 3 below. */
enum { NONE = -1 };
enum how { SET, ADD, SUBTRACT };

struct target {
    int quarter;
    enum how how;
};

/* One of the seven: quarters of the rows that are added up, and where the product goes. */
static const struct {
    int one, other;
    float sign;
    struct target into[2];
} SEVEN[7] = {
    {0, 3, 1.0f, {{0, SET}, {3, SET}}},       {2, 3, 1.0f, {{2, SET}, {3, SUBTRACT}}},
    {0, NONE, 0.0f, {{1, SET}, {3, ADD}}},    {3, NONE, 0.0f, {{0, ADD}, {2, ADD}}},
    {0, 1, 1.0f, {{0, SUBTRACT}, {1, ADD}}},  {2, 0, -1.0f, {{3, ADD}, {NONE, ADD}}},
    {1, 3, -1.0f, {{0, ADD}, {NONE, ADD}}},
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

/* A tile of a product, from TALL rows and WIDE columns laid side by side, put into one or two. */
static void tile(const float *restrict rows, const float *restrict columns, long depth,
                 float *const out[2], const struct target *into, long stride) {
    for (int k = 0; k < 2 && out[k]; k++)
        for (int i = 0; i < TALL; i++) __builtin_prefetch(out[k] + i * stride, 1);
    lanes sums[TALL][2];
    EACH for (int i = 0; i < TALL; i++) sums[i][0] = sums[i][1] = (lanes){0};
    for (long k = 0; k < depth; k++, rows += TALL, columns += WIDE) {
        lanes left[TALL / 4], right[2];
        EACH for (int i = 0; i < TALL / 4; i++) left[i] = *(const lanes *)(rows + 4 * i);
        EACH for (int j = 0; j < 2; j++) right[j] = *(const lanes *)(columns + 4 * j);
        EACH for (int i = 0; i < TALL; i++)
            EACH for (int j = 0; j < 2; j++) sums[i][j] += left[i / 4][i % 4] * right[j];
    }
    put(sums, into[0].how, out[0], stride);
    if (out[1]) put(sums, into[1].how, out[1], stride);
}

/* TALL rows of a quarter, or of two added up, side by side. `left` of its rows are there; the last
 * of all rows stands in for those that are missing. */
static void lay_out(const float *const from[2], const long left[2], float sign, long stride,
                    long depth, float *restrict laid) {
    const float *one[TALL], *other[TALL];
    for (long i = 0; i < TALL; i++) {
        one[i] = from[0] + (i < left[0] ? i : left[0] - 1) * stride;
        if (from[1]) other[i] = from[1] + (i < left[1] ? i : left[1] - 1) * stride;
    }
    if (from[1])
        for (long k = 0; k < depth; k++)
            EACH for (int i = 0; i < TALL; i++) laid[k * TALL + i] = one[i][k] + sign * other[i][k];
    else
        for (long k = 0; k < depth; k++)
            EACH for (int i = 0; i < TALL; i++) laid[k * TALL + i] = one[i][k];
}

/* `units` are even. `weights` are the seven sums of quarters, each in `panels` of WIDE columns,
 * (7, panels, units / 2, WIDE). `out` has room for a multiple of 2 * TALL rows of 2 * panels * WIDE,
 * `scratch` for TALL * units / 2. */
void espalier_product(long count, long units, long panels, const float *rows, const float *weights,
                      float *out, float *scratch) {
    long half = (count + 2 * TALL - 1) / (2 * TALL) * TALL, depth = units / 2;
    long across = panels * WIDE, stride = 2 * across;
    for (int number = 0; number < 7; number++, weights += depth * across) {
        int quarters[2] = {SEVEN[number].one, SEVEN[number].other};
        const struct target *into = SEVEN[number].into;
        for (long row = 0; row < half; row += TALL) {
            const float *from[2] = {0};
            long left[2] = {0};
            float *to[2] = {0};
            for (int k = 0; k < 2; k++) {
                if (quarters[k] != NONE) {
                    long first = row + (quarters[k] / 2 ? half : 0);
                    from[k] = rows + first * units + (quarters[k] % 2 ? depth : 0);
                    left[k] = count - first;
                }
                if (into[k].quarter != NONE)
                    to[k] = out + (row + (into[k].quarter / 2 ? half : 0)) * stride +
                            (into[k].quarter % 2 ? across : 0);
            }
            lay_out(from, left, SEVEN[number].sign, units, depth, scratch);
            for (long panel = 0; panel < panels; panel++) {
                float *here[2] = {to[0] + panel * WIDE, to[1] ? to[1] + panel * WIDE : 0};
                tile(scratch, weights + panel * WIDE * depth, depth, here, into, stride);
            }
        }
    }
}
#endif
