#include "arena/sandbox/seccomp.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#define SYSONE_SECCOMP 1
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#endif

namespace sysone::arena {

#ifdef SYSONE_SECCOMP
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArch = AUDIT_ARCH_X86_64;
constexpr std::uint32_t kOtherAbi = 0x40000000;  // x32's calls, which would slip past the numbers
#else
constexpr std::uint32_t kArch = AUDIT_ARCH_AARCH64;
#endif
constexpr std::uint32_t kCloneThread = 0x00010000;  // CLONE_THREAD of linux/sched.h

constexpr std::uint32_t refuse(int error) {
    return SECCOMP_RET_ERRNO | (static_cast<std::uint32_t>(error) & SECCOMP_RET_DATA);
}

constexpr sock_filter load(std::size_t offset) {
    return {BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<std::uint32_t>(offset)};
}

constexpr sock_filter end_with(std::uint32_t verdict) { return {BPF_RET | BPF_K, 0, 0, verdict}; }

// Jumps over `yes` or `no` instructions by what was loaded.
constexpr sock_filter if_equal(std::uint32_t value, std::uint8_t yes, std::uint8_t no) {
    return {BPF_JMP | BPF_JEQ | BPF_K, yes, no, value};
}

constexpr int kDenied[] = {
#ifdef __NR_fork
    __NR_fork,
    __NR_vfork,
#endif
    __NR_ptrace,
    __NR_process_vm_readv,
    __NR_process_vm_writev,
    __NR_mount,
    __NR_umount2,
    __NR_pivot_root,
    __NR_chroot,
    __NR_unshare,
    __NR_setns,
    __NR_add_key,
    __NR_request_key,
    __NR_keyctl,
    __NR_bpf,
    __NR_perf_event_open,
    __NR_userfaultfd,
    __NR_kexec_load,
    __NR_init_module,
    __NR_finit_module,
    __NR_delete_module,
    __NR_open_by_handle_at,
    __NR_socket,  // a socketpair needs no socket
    425,          // io_uring_setup, which could do the others' work; one number everywhere
};

std::vector<sock_filter> program() {
    constexpr std::size_t kNumber = offsetof(seccomp_data, nr);
    std::vector<sock_filter> code = {
        load(offsetof(seccomp_data, arch)),           if_equal(kArch, 1, 0),
        end_with(SECCOMP_RET_KILL_PROCESS),           load(kNumber),
#if defined(__x86_64__)
        {BPF_JMP | BPF_JGE | BPF_K, 0, 1, kOtherAbi}, end_with(SECCOMP_RET_KILL_PROCESS),
#endif
    };
    for (const int number : kDenied) {
        code.push_back(if_equal(static_cast<std::uint32_t>(number), 0, 1));
        code.push_back(end_with(refuse(EPERM)));
    }
    // Its flags are in memory, where a filter cannot look; without it libc falls back to clone.
    code.push_back(if_equal(435, 0, 1));  // clone3, one number everywhere
    code.push_back(end_with(refuse(ENOSYS)));
    code.push_back(if_equal(__NR_clone, 0, 4));
    code.push_back(load(offsetof(seccomp_data, args)));  // the flags' low half: little-endian
    code.push_back({BPF_JMP | BPF_JSET | BPF_K, 1, 0, kCloneThread});
    code.push_back(end_with(refuse(EPERM)));
    code.push_back(end_with(SECCOMP_RET_ALLOW));
    code.push_back(end_with(SECCOMP_RET_ALLOW));
    return code;
}

}  // namespace

std::vector<std::uint8_t> seccomp_filter() {
    const std::vector<sock_filter> code = program();
    std::vector<std::uint8_t> bytes(code.size() * sizeof(sock_filter));
    std::memcpy(bytes.data(), code.data(), bytes.size());
    return bytes;
}
#else
std::vector<std::uint8_t> seccomp_filter() { return {}; }
#endif

}  // namespace sysone::arena
