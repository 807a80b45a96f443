// A JSON reader without floating point: numbers are decimals kept in millionths.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sysone::arena {

struct JsonMember;

struct Json {
    enum class Kind : std::uint8_t { kNull, kBool, kNumber, kNotFinite, kText, kList, kObject };

    Kind kind = Kind::kNull;
    bool truth = false;
    bool whole = false;      // a number without a fraction (1.0 counts)
    bool beyond = false;     // a number too large for `micro`
    std::int64_t micro = 0;  // the number in millionths, halves away from zero
    std::string text;
    std::vector<Json> items;
    std::vector<JsonMember> members;

    bool is(Kind wanted) const noexcept { return kind == wanted; }
    const Json* find(std::string_view key) const noexcept;
    std::int64_t integer() const noexcept { return micro / 1000000; }
};

struct JsonMember {
    std::string key;
    Json value;
};

struct JsonError {
    std::string code;  // bad_json | depth | too_large; empty: none
    std::size_t at = 0;
};

// NaN and infinities, which some writers emit, are read as kNotFinite. Of a key that comes twice
// the last value counts.
JsonError parse_json(std::string_view text, std::size_t max_bytes, int max_depth, Json& into);

void append_json_text(std::string& out, std::string_view text);
void append_number(std::string& out, std::int64_t value);
// value / 10^digits with as few decimals as it needs, at least `least`.
void append_decimal(std::string& out, std::int64_t value, int digits, int least = 0);

}  // namespace sysone::arena
