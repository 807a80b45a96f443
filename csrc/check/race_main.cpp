// A race on purpose, through the pool that batches run on: every environment adds to one plain
// number. ThreadSanitizer must report it, or its silence about check_threads means nothing.
#include <cstdio>

#include "arena/fast/batch.h"

int main() {
    sysone::arena::Crew crew(4);
    long total = 0;
    for (int round = 0; round < 200; ++round) crew.each(64, [&total](int i) { total += i; });
    std::printf("%ld\n", total);
    return 0;
}
