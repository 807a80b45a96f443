// A seccomp filter for strategies, as plain BPF: threads and socket pairs work; new processes,
// sockets, tracing, mounts, namespaces and the kernel's wider doors do not.
#pragma once

#include <cstdint>
#include <vector>

namespace sysone::arena {

// The program as the kernel reads it (struct sock_filter, 8 bytes each); empty on processors for
// which there is none.
std::vector<std::uint8_t> seccomp_filter();

}  // namespace sysone::arena
