// What every fuzz target needs: a property that holds or stops the run, and a reader that makes
// numbers out of the fuzzer's bytes.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace sysone::fuzz {

// Stops the process as a crash would, so that the fuzzer keeps the input.
inline void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "property broken: %s\n", what);
    std::abort();
}

// Reads values from the front; an input that has run out reads as zeros.
class Bytes {
  public:
    Bytes(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

    bool empty() const { return rest_.empty(); }
    std::size_t size() const { return rest_.size(); }

    template <typename T>
    T take() {
        static_assert(std::is_trivially_copyable_v<T>);
        T value{};
        const std::size_t count = rest_.size() < sizeof(T) ? rest_.size() : sizeof(T);
        if (count != 0) std::memcpy(&value, rest_.data(), count);
        rest_ = rest_.subspan(count);
        return value;
    }
    // From low to high, both included.
    int between(int low, int high) { return low + take<std::uint8_t>() % (high - low + 1); }
    bool flag() { return (take<std::uint8_t>() & 1) != 0; }
    std::string_view text() { return {reinterpret_cast<const char*>(rest_.data()), rest_.size()}; }
    // Up to the next byte `end`, which is taken too.
    std::string_view until(char end) {
        const std::string_view all = text();
        const std::size_t found = all.find(end);
        const std::string_view part = all.substr(0, found);
        rest_ = rest_.subspan(found == all.npos ? rest_.size() : found + 1);
        return part;
    }

  private:
    std::span<const std::uint8_t> rest_;
};

}  // namespace sysone::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
