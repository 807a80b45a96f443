#include "arena/core/json.h"

#include <charconv>
#include <limits>
#include <utility>

namespace sysone::arena {

const Json* Json::find(std::string_view key) const noexcept {
    for (const auto& [name, value] : members) {
        if (name == key) return &value;
    }
    return nullptr;
}

namespace {

constexpr std::int64_t kMostMicro = std::numeric_limits<std::int64_t>::max() / 4;

class Reader {
  public:
    Reader(std::string_view text, int max_depth) : text_(text), max_depth_(max_depth) {}

    JsonError read(Json& into) {
        space();
        if (value(into, 0)) {
            space();
            if (at_ != text_.size()) fail("bad_json");
        }
        return error_;
    }

  private:
    bool fail(const char* code) {
        if (error_.code.empty()) error_ = {code, at_};
        return false;
    }
    bool more() const { return at_ < text_.size(); }
    void space() {
        while (more() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' ||
                          text_[at_] == '\r')) {
            ++at_;
        }
    }
    bool word(std::string_view wanted) {
        if (text_.substr(at_, wanted.size()) != wanted) return false;
        at_ += wanted.size();
        return true;
    }

    bool value(Json& into, int depth) {
        if (!more()) return fail("bad_json");
        switch (text_[at_]) {
            case '{':
                return object(into, depth + 1);
            case '[':
                return list(into, depth + 1);
            case '"':
                into.kind = Json::Kind::kText;
                return quoted(into.text);
            case 't':
            case 'f':
                into.kind = Json::Kind::kBool;
                into.truth = text_[at_] == 't';
                return word(into.truth ? "true" : "false") || fail("bad_json");
            case 'n':
                return word("null") || fail("bad_json");
            case 'N':
            case 'I':
                into.kind = Json::Kind::kNotFinite;
                return word("NaN") || word("Infinity") || fail("bad_json");
            default:
                if (word("-Infinity")) {
                    into.kind = Json::Kind::kNotFinite;
                    return true;
                }
                return number(into);
        }
    }

    bool number(Json& into) {
        into.kind = Json::Kind::kNumber;
        const bool negative = text_[at_] == '-';
        if (negative) ++at_;
        std::string digits;
        int point = 0;
        const auto run = [&] {
            const std::size_t begin = at_;
            while (more() && text_[at_] >= '0' && text_[at_] <= '9') digits += text_[at_++];
            return at_ - begin;
        };
        const std::size_t begin = at_;
        const std::size_t before = run();
        if (before == 0 || (before > 1 && text_[begin] == '0')) return fail("bad_json");
        point = static_cast<int>(before);
        if (more() && text_[at_] == '.') {
            ++at_;
            if (run() == 0) return fail("bad_json");
        }
        if (more() && (text_[at_] == 'e' || text_[at_] == 'E')) {
            ++at_;
            // from_chars takes a minus sign itself; after a plus sign there is none.
            if (more() && text_[at_] == '+') {
                ++at_;
                if (more() && text_[at_] == '-') return fail("bad_json");
            }
            int exponent = 0;
            const auto [end, problem] =
                std::from_chars(text_.data() + at_, text_.data() + text_.size(), exponent);
            if (problem == std::errc::result_out_of_range) {
                exponent = text_[at_] == '-' ? -100000 : 100000;
            } else if (problem != std::errc()) {
                return fail("bad_json");
            }
            at_ = static_cast<std::size_t>(end - text_.data());
            point += exponent < -100000 ? -100000 : exponent > 100000 ? 100000 : exponent;
        }
        set(into, digits, point, negative);
        return true;
    }

    // digits with the point after the first `point` of them
    static void set(Json& into, std::string_view digits, int point, bool negative) {
        std::int64_t micro = 0;
        bool fraction = false;
        const int kept = point + 6;
        for (int i = 0; i < static_cast<int>(digits.size()); ++i) {
            const int digit = digits[static_cast<std::size_t>(i)] - '0';
            if (i >= point && digit != 0) fraction = true;
            if (i < kept) {
                if (micro > kMostMicro / 10) {
                    into.beyond = true;
                    break;
                }
                micro = micro * 10 + digit;
            } else if (i == kept) {
                if (digit >= 5) ++micro;
            }
        }
        for (int i = static_cast<int>(digits.size()); i < kept && micro != 0 && !into.beyond; ++i) {
            if (micro > kMostMicro / 10) {
                into.beyond = true;
            } else {
                micro *= 10;
            }
        }
        if (into.beyond) micro = kMostMicro;
        into.whole = !fraction;
        into.micro = negative ? -micro : micro;
    }

    bool list(Json& into, int depth) {
        if (depth > max_depth_) return fail("depth");
        into.kind = Json::Kind::kList;
        ++at_;
        space();
        if (more() && text_[at_] == ']') return ++at_, true;
        while (true) {
            space();
            if (!value(into.items.emplace_back(), depth)) return false;
            space();
            if (!more()) return fail("bad_json");
            const char next = text_[at_++];
            if (next == ']') return true;
            if (next != ',') return fail("bad_json");
        }
    }

    bool object(Json& into, int depth) {
        if (depth > max_depth_) return fail("depth");
        into.kind = Json::Kind::kObject;
        ++at_;
        space();
        if (more() && text_[at_] == '}') return ++at_, true;
        while (true) {
            space();
            std::string key;
            if (!more() || text_[at_] != '"' || !quoted(key)) return fail("bad_json");
            space();
            if (!more() || text_[at_++] != ':') return fail("bad_json");
            space();
            Json item;
            if (!value(item, depth)) return false;
            place(into, std::move(key), std::move(item));
            space();
            if (!more()) return fail("bad_json");
            const char next = text_[at_++];
            if (next == '}') return true;
            if (next != ',') return fail("bad_json");
        }
    }

    static void place(Json& into, std::string key, Json item) {
        for (auto& [name, old] : into.members) {
            if (name == key) {
                old = std::move(item);
                return;
            }
        }
        into.members.push_back({std::move(key), std::move(item)});
    }

    bool hex(std::uint32_t& code) {
        if (at_ + 4 > text_.size()) return fail("bad_json");
        const auto [end, problem] =
            std::from_chars(text_.data() + at_, text_.data() + at_ + 4, code, 16);
        if (problem != std::errc() || end != text_.data() + at_ + 4) return fail("bad_json");
        at_ += 4;
        return true;
    }

    static void utf8(std::string& out, std::uint32_t code) {
        const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
        if (code < 0x80) {
            put(code);
        } else if (code < 0x800) {
            put(0xC0 | code >> 6);
            put(0x80 | (code & 63));
        } else if (code < 0x10000) {
            put(0xE0 | code >> 12);
            put(0x80 | (code >> 6 & 63));
            put(0x80 | (code & 63));
        } else {
            put(0xF0 | code >> 18);
            put(0x80 | (code >> 12 & 63));
            put(0x80 | (code >> 6 & 63));
            put(0x80 | (code & 63));
        }
    }

    // Bytes of one character, the first of them just read: shortest form, no surrogates, nothing
    // above U+10FFFF (RFC 3629). What others read as JSON must be Unicode text.
    bool sequence(std::string& out) {
        const auto byte = [this](std::size_t i) {
            return i < text_.size() ? static_cast<unsigned char>(text_[i]) : std::uint8_t{0};
        };
        const std::uint8_t first = byte(at_ - 1);
        const std::uint8_t second = byte(at_);
        std::size_t rest = 0;
        if (first >= 0xC2 && first <= 0xDF) {
            rest = 1;
        } else if (first >= 0xE0 && first <= 0xEF) {
            rest = 2;
            if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) {
                return fail("bad_json");
            }
        } else if (first >= 0xF0 && first <= 0xF4) {
            rest = 3;
            if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) {
                return fail("bad_json");
            }
        } else {
            return fail("bad_json");
        }
        for (std::size_t i = 0; i < rest; ++i) {
            if ((byte(at_ + i) & 0xC0) != 0x80) return fail("bad_json");
        }
        out += text_.substr(at_ - 1, rest + 1);
        at_ += rest;
        return true;
    }

    bool quoted(std::string& out) {
        ++at_;
        while (more()) {
            const char c = text_[at_++];
            if (c == '"') return true;
            if (static_cast<unsigned char>(c) < 0x20) return fail("bad_json");
            if (static_cast<unsigned char>(c) >= 0x80) {
                if (!sequence(out)) return false;
                continue;
            }
            if (c != '\\') {
                out += c;
                continue;
            }
            if (!more()) break;
            const char escape = text_[at_++];
            constexpr std::string_view kFrom = "\"\\/bfnrt";
            constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
            if (const auto found = kFrom.find(escape); found != kFrom.npos) {
                out += kTo[found];
            } else if (escape == 'u') {
                std::uint32_t code = 0;
                if (!hex(code)) return false;
                if (code >= 0xD800 && code < 0xE000) {
                    // Half of a pair is no text: other readers of the same line refuse it.
                    std::uint32_t low = 0;
                    if (code >= 0xDC00 || !word("\\u") || !hex(low) || low < 0xDC00 ||
                        low >= 0xE000) {
                        return fail("bad_json");
                    }
                    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                }
                utf8(out, code);
            } else {
                return fail("bad_json");
            }
        }
        return fail("bad_json");
    }

    std::string_view text_;
    int max_depth_;
    std::size_t at_ = 0;
    JsonError error_;
};

}  // namespace

JsonError parse_json(std::string_view text, std::size_t max_bytes, int max_depth, Json& into) {
    if (text.size() > max_bytes) return {"too_large", max_bytes};
    return Reader(text, max_depth).read(into);
}

void append_json_text(std::string& out, std::string_view text) {
    constexpr std::string_view kHex = "0123456789abcdef";
    out += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            out += "\\u00";
            out += kHex[static_cast<unsigned char>(c) >> 4];
            out += kHex[static_cast<unsigned char>(c) & 15];
        } else {
            out += c;
        }
    }
    out += '"';
}

void append_number(std::string& out, std::int64_t value) {
    char buffer[24];
    const auto [end, problem] = std::to_chars(buffer, buffer + sizeof buffer, value);
    (void)problem;  // the buffer holds every 64-bit number
    out.append(buffer, end);
}

void append_decimal(std::string& out, std::int64_t value, int digits, int least) {
    std::int64_t scale = 1;
    for (int i = 0; i < digits; ++i) scale *= 10;
    if (value < 0) out += '-';
    const std::uint64_t size =
        value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    append_number(out, static_cast<std::int64_t>(size / static_cast<std::uint64_t>(scale)));
    auto rest = static_cast<std::int64_t>(size % static_cast<std::uint64_t>(scale));
    int shown = digits;
    while (shown > least && rest % 10 == 0) {
        rest /= 10;
        --shown;
    }
    if (shown == 0) return;
    out += '.';
    char buffer[24];
    for (int i = shown - 1; i >= 0; --i, rest /= 10) {
        buffer[i] = static_cast<char>('0' + rest % 10);
    }
    out.append(buffer, static_cast<std::size_t>(shown));
}

}  // namespace sysone::arena
