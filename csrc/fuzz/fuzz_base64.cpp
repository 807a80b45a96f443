// Base64 of the frames on the wire. Every instruction set accepts and gives the same; what is
// accepted comes back byte for byte when it is encoded again; nothing is written past the target.
//
//   input: the text
#include <vector>

#include "drive/base64.h"
#include "fuzz/fuzz.h"

namespace {

using sysone::fuzz::require;

std::vector<std::uint8_t> encoded(const std::vector<std::uint8_t>& raw, drive::Simd simd) {
    std::vector<std::uint8_t> text(drive::base64_length(raw.size()));
    drive::base64_encode(raw.data(), raw.size(), text.data(), simd);
    return text;
}

// Equal but for the last character before padding, whose low bits stand for nothing: they are
// accepted as set, as CPython's decoder accepts them (RFC 4648, section 3.5, leaves it open).
bool same_text(std::vector<std::uint8_t> one, std::vector<std::uint8_t> other) {
    for (auto* text : {&one, &other}) {
        if (text->empty() || text->back() != '=') continue;
        const std::size_t last = text->size() - ((*text)[text->size() - 2] == '=' ? 3 : 2);
        (*text)[last] = 0;
    }
    return one == other;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::vector<std::uint8_t> source(data, data + size);
    const int best = static_cast<int>(drive::best_simd());

    const std::size_t length = drive::decoded_length(source.data(), source.size());
    if (length != drive::kNotBase64) {
        std::vector<std::uint8_t> plain(length);
        const bool good =
            drive::base64_decode(source.data(), size, plain.data(), drive::Simd::kScalar);
        for (int level = 0; level <= best; ++level) {
            const auto simd = static_cast<drive::Simd>(level);
            std::vector<std::uint8_t> raw(length);
            require(drive::base64_decode(source.data(), size, raw.data(), simd) == good,
                    "every level accepts the same");
            if (!good) continue;
            require(raw == plain, "every level decodes to the same");
            require(same_text(encoded(raw, simd), source), "what is accepted encodes to itself");
        }
    }

    // Any bytes are something to encode.
    const std::vector<std::uint8_t> text = encoded(source, drive::Simd::kScalar);
    for (int level = 0; level <= best; ++level) {
        const auto simd = static_cast<drive::Simd>(level);
        require(encoded(source, simd) == text, "every level encodes to the same");
        std::vector<std::uint8_t> back(size);
        require(drive::decoded_length(text.data(), text.size()) == size, "the length comes back");
        require(drive::base64_decode(text.data(), text.size(), back.data(), simd) && back == source,
                "what is encoded decodes to itself");
    }
    return 0;
}
