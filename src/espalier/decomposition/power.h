/* 2^x in single precision, in a form that a compiler turns into vectors. */
#include <stdint.h>
#include <string.h>

static inline float within(float x, float low, float high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

/* 2^x, x brought between -126 and 126, to an ulp or two: the polynomial on [-1/2, 1/2] is off by
 * 1.1e-7 at most, and nothing at 0. Its terms are paired so that few of them wait for others. */
static inline float power_of_two(float given) {
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number */
    float x = within(given, -126.0f, 126.0f), rounded = x + magic, f = x - (rounded - magic);
    float square = f * f, low = 1.0f + 6.931470037e-1f * f;
    float middle = 2.402224243e-1f + 5.550733581e-2f * f;
    float high = 9.671512991e-3f + 1.326472731e-3f * f;
    float power = low + square * (middle + square * high);
    uint32_t whole, bits;
    memcpy(&whole, &rounded, 4);
    memcpy(&bits, &power, 4);
    bits += whole << 23;
    memcpy(&power, &bits, 4);
    return power;
}
