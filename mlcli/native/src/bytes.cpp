// Products of rows of bytes by AVX-512 VNNI, which adds four products of bytes to each lane. A file of its own: level v4
// does without these instructions. Levels below multiply 16-bit numbers (packed.hpp), with the same sums.
#include "bytes.hpp"

#include "products.hpp"

namespace mlcli::LEVEL {

constexpr int ACROSS = 3 * Lanes<std::int32_t>::width;  // rows of the right side in a panel
constexpr std::int64_t STRIP = 512;                     // rows that go by all panels together, from the second cache

static std::int64_t byte_scratch(std::int64_t others, std::int64_t words) {
    return (padded<std::int32_t>(others) + HEIGHT) * words;
}

// A tile of products of HEIGHT rows with a panel, of which `tall` and `wide` are there.
INLINE void byte_tile(const std::int32_t *rows, const std::int32_t *panel, std::int64_t words, const std::int32_t *sums,
                      std::int64_t tall, std::int64_t wide, float *out, std::int64_t stride) {
    std::int32_t products[HEIGHT * ACROSS] = {};
    tile(rows, 1, words, panel, words, products, ACROSS);
    for (std::int64_t i = 0; i < tall; ++i)
        for (std::int64_t j = 0; j < wide; ++j)
            out[i * stride + j] = static_cast<float>(products[i * ACROSS + j] + MIDDLE * sums[j]);
}

static void products_of_bytes(const std::int32_t *rows, std::int64_t count, const std::int32_t *right,
                              std::int64_t others, std::int64_t words, const std::int32_t *sums, float *out,
                              std::int32_t *scratch) {
    std::int32_t *packed = scratch, *tail = scratch + padded<std::int32_t>(others) * words;
    clear(scratch, byte_scratch(others, words));
    for (std::int64_t j = 0; j < others; ++j)
        for (std::int64_t k = 0; k < words; ++k)
            packed[(j - j % ACROSS) * words + k * ACROSS + j % ACROSS] = right[j * words + k];
    const std::int64_t tall = count / HEIGHT * HEIGHT;
    for (std::int64_t i = tall * words; i < count * words; ++i) tail[i - tall * words] = rows[i];
    for (std::int64_t strip = 0; strip < count; strip += STRIP)
        for (std::int64_t first = 0; first < others; first += ACROSS) {
            const std::int32_t *panel = packed + first * words;
            const std::int64_t wide = smaller(ACROSS, others - first);
            for (std::int64_t i = strip; i < smaller(strip + STRIP, count); i += HEIGHT)
                byte_tile(i < tall ? rows + i * words : tail, panel, words, sums + first, smaller(HEIGHT, count - i), wide,
                          out + i * others + first, others);
        }
}

extern const ByteKernels *const bytes;
static const ByteKernels table = {byte_scratch, products_of_bytes};
const ByteKernels *const bytes = &table;

}  // namespace mlcli::LEVEL
