// The arena's JSON reader. It accepts what RFC 8259 allows, and NaN and infinities, as a second,
// simpler reader written from the grammar decides; a value that is written and read again is the
// same; the limits on size and depth hold.
//
//   input: the text
#include <cctype>
#include <string>

#include "arena/core/json.h"
#include "fuzz/fuzz.h"

namespace {

using sysone::arena::append_decimal;
using sysone::arena::append_json_text;
using sysone::arena::Json;
using sysone::arena::JsonError;
using sysone::arena::parse_json;
using sysone::fuzz::require;

constexpr std::size_t kMostBytes = 65536;
constexpr int kMostDepth = 8;

// The grammar of RFC 8259, section by section.
class Grammar {
  public:
    explicit Grammar(std::string_view text) : text_(text) {}
    bool holds() { return utf8() && value(0) && (blank(), at_ == text_.size()); }

  private:
    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    bool take(char c) { return at_ < text_.size() && text_[at_] == c && ++at_ != 0; }
    bool word(std::string_view w) {
        if (text_.substr(at_, w.size()) != w) return false;
        at_ += w.size();
        return true;
    }
    void blank() {
        while (at_ < text_.size() &&
               std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos) {
            ++at_;
        }
    }
    bool digits() {
        const std::size_t from = at_;
        while (peek() >= '0' && peek() <= '9') ++at_;
        return at_ > from;
    }
    bool number() {
        take('-');
        if (word("Infinity")) return true;
        if (!take('0') && !digits()) return false;
        if (take('.') && !digits()) return false;
        if (take('e') || take('E')) {
            if (!take('+')) take('-');
            if (!digits()) return false;
        }
        return true;
    }
    unsigned hex() {
        unsigned code = 0;
        for (int i = 0; i < 4; ++i, ++at_) {
            const char digit = peek();
            if (!std::isxdigit(static_cast<unsigned char>(digit))) return 0x10000;
            const int value = digit <= '9' ? digit - '0' : (digit | 32) - 'a' + 10;
            code = code << 4 | static_cast<unsigned>(value);
        }
        return code;
    }
    bool string() {
        if (!take('"')) return false;
        while (at_ < text_.size()) {
            const auto c = static_cast<unsigned char>(text_[at_++]);
            if (c == '"') return true;
            if (c < 0x20) return false;
            if (c != '\\') continue;
            if (at_ == text_.size()) return false;
            const char escape = text_[at_++];
            if (escape == 'u') {
                const unsigned code = hex();
                if (code > 0xFFFF || code >> 10 == 0x37) return false;
                // Section 8.2: text, so that the halves of a pair come together.
                if (code >> 10 == 0x36 && (!word("\\u") || hex() >> 10 != 0x37)) return false;
            } else if (std::string_view("\"\\/bfnrt").find(escape) == std::string_view::npos) {
                return false;
            }
        }
        return false;
    }
    bool value(int depth) {
        blank();
        if (peek() == '{' || peek() == '[') {
            const bool object = text_[at_++] == '{';
            const char end = object ? '}' : ']';
            if (depth + 1 > kMostDepth) return false;
            blank();
            if (take(end)) return true;
            do {
                blank();
                if (object && (!string() || (blank(), !take(':')))) return false;
                if (!value(depth + 1)) return false;
                blank();
            } while (take(','));
            return take(end);
        }
        if (peek() == '"') return string();
        return word("true") || word("false") || word("null") || word("NaN") || number();
    }
    // RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
    bool utf8() const {
        for (std::size_t i = 0; i < text_.size();) {
            const auto byte = [this](std::size_t k) {
                return k < text_.size() ? static_cast<unsigned char>(text_[k]) : 0u;
            };
            const unsigned first = byte(i);
            const int more = first < 0x80         ? 0
                             : first >> 5 == 0x6  ? 1
                             : first >> 4 == 0xE  ? 2
                             : first >> 3 == 0x1E ? 3
                                                  : -1;
            if (more < 0) return false;
            unsigned code = more == 0 ? first : first & (0x3Fu >> more);
            for (int k = 1; k <= more; ++k) {
                const unsigned next = byte(i + static_cast<std::size_t>(k));
                if (next >> 6 != 2) return false;
                code = code << 6 | (next & 0x3F);
            }
            constexpr unsigned kLeast[] = {0, 0x80, 0x800, 0x10000};
            if (code < kLeast[more] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
                return false;
            }
            i += static_cast<std::size_t>(more) + 1;
        }
        return true;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

void write(const Json& value, std::string& out) {
    switch (value.kind) {
        case Json::Kind::kNull:
            out += "null";
            break;
        case Json::Kind::kBool:
            out += value.truth ? "true" : "false";
            break;
        case Json::Kind::kNotFinite:
            out += "NaN";
            break;
        case Json::Kind::kNumber:
            if (value.beyond) {
                out += value.micro < 0 ? "-1e99" : "1e99";
            } else {
                append_decimal(out, value.micro, 6);
            }
            break;
        case Json::Kind::kText:
            append_json_text(out, value.text);
            break;
        case Json::Kind::kList: {
            out += '[';
            bool first = true;
            for (const Json& item : value.items) {
                if (!first) out += ',';
                first = false;
                write(item, out);
            }
            out += ']';
            break;
        }
        case Json::Kind::kObject: {
            out += '{';
            bool first = true;
            for (const auto& [key, item] : value.members) {
                if (!first) out += ',';
                first = false;
                append_json_text(out, key);
                out += ':';
                write(item, out);
            }
            out += '}';
            break;
        }
    }
}

bool same(const Json& a, const Json& b) {
    if (a.kind != b.kind || a.truth != b.truth || a.beyond != b.beyond || a.micro != b.micro ||
        a.text != b.text || a.items.size() != b.items.size() ||
        a.members.size() != b.members.size()) {
        return false;
    }
    for (std::size_t i = 0; i < a.items.size(); ++i) {
        if (!same(a.items[i], b.items[i])) return false;
    }
    for (std::size_t i = 0; i < a.members.size(); ++i) {
        if (a.members[i].key != b.members[i].key) return false;
        if (!same(a.members[i].value, b.members[i].value)) return false;
    }
    return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    Json value;
    const JsonError error = parse_json(text, kMostBytes, kMostDepth, value);
    const bool accepted = error.code.empty();
    require(error.at <= size, "an error is somewhere in the text");
    require(accepted == (size <= kMostBytes && Grammar(text).holds()), "it accepts the grammar");
    if (!accepted) return 0;
    std::string again;
    write(value, again);
    Json back;
    require(parse_json(again, again.size(), kMostDepth, back).code.empty() && same(value, back),
            "what is written again reads the same");
    return 0;
}
