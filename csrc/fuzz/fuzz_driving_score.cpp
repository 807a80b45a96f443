// The fold of recorded ticks into penalties. For columns of any numbers, not finite ones included,
// and contacts in tick order: events lie within the drive, the penalty is a product of known
// factors, and the fold is a function of its input.
//
//   input: a byte of rules, number of ticks, then 29 bytes a tick; every tick may hold contacts
#include <cmath>
#include <vector>

#include "drive/fold.h"
#include "fuzz/fuzz.h"

using sysone::fuzz::Bytes;
using sysone::fuzz::require;

namespace {

double number(Bytes& bytes) {
    // Mostly as in a drive; now and then any bits.
    const int kind = bytes.between(0, 15);
    return kind == 0 ? bytes.take<double>() : bytes.take<std::int8_t>() / 8.0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Bytes bytes(data, size);
    const int flags = bytes.take<std::uint8_t>();
    const auto count = static_cast<std::size_t>(bytes.between(0, 200));
    std::vector<double> time(count), speed(count), completion(count), location(3 * count);
    std::vector<std::uint8_t> red(count), junction(count), known(count);
    std::vector<std::int64_t> road(count);
    std::vector<drive::Contact> contacts;
    double clock = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const int what = bytes.take<std::uint8_t>();
        clock = (what & 128) != 0 ? number(bytes) : clock + 0.05 * (what & 15);
        time[i] = clock;
        speed[i] = number(bytes);
        completion[i] = number(bytes);
        for (std::size_t k = 0; k < 3; ++k) location[3 * i + k] = number(bytes);
        red[i] = (what & 16) != 0;
        junction[i] = (what & 32) != 0;
        known[i] = bytes.flag();
        road[i] = bytes.between(0, 5);
        for (int k = (what & 64) != 0 ? bytes.between(1, 3) : 0; k > 0; --k) {
            const int kind = bytes.between(0, 3);
            contacts.push_back({static_cast<std::int64_t>(i), bytes.between(0, 4),
                                kind == 3 ? drive::kNoEvent : static_cast<std::uint8_t>(kind)});
        }
    }
    const std::vector<std::int64_t> roads = {1, 2, 4};
    const drive::FoldRules rules{(flags & 1) != 0,
                                 (flags & 2) != 0,
                                 (flags & 4) != 0,
                                 (flags & 8) != 0,
                                 (flags & 16) != 0,
                                 0.1,
                                 60.0,
                                 100.0,
                                 roads.data(),
                                 (flags & 32) != 0 ? roads.size() : 0};
    const drive::TickColumns ticks{
        count,           time.data(), speed.data(), completion.data(), location.data(), red.data(),
        junction.data(), road.data(), known.data(), contacts.data(),   contacts.size()};
    const drive::Fold one = fold_columns(ticks, rules);
    const drive::Fold two = fold_columns(ticks, rules);
    require(one.penalty == two.penalty && one.counted == two.counted &&
                one.events.size() == two.events.size(),
            "the fold is a function");
    require(one.penalty >= 0 && one.penalty <= 1, "the penalty is a share");
    require(one.counted <= count, "no more ticks count than there are");
    for (const drive::FoldEvent& event : one.events) {
        require(event.kind >= drive::kStatic && event.kind <= drive::kDeviation, "a known kind");
        require(event.index >= 0 && event.length >= 1 &&
                    event.index + event.length <= static_cast<std::int64_t>(count),
                "an event lies within the drive");
    }
    return 0;
}
