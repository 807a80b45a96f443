// Many matches at once on threads, read from and written into arrays of the caller.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "arena/fast/bots.h"
#include "arena/fast/spaces.h"

namespace sysone::arena {

enum class Autoreset : Word { kDisabled, kNextStep, kSameStep };

struct BatchOptions {
    int envs = 1;
    int threads = 1;
    int rows = 5;
    Word duration_ticks = 8400;
    int action_repeat = 2;  // ticks, even
    int max_steps = 0;      // 0: none
    bool score = false;     // whether attack damage is rewarded
    double score_scale = 0.001;
    Autoreset autoreset = Autoreset::kDisabled;
    bool digests = true;
    std::array<Bot, kTeams> bots{};
    std::array<bool, kTeams> driven{true, true};  // sides that arrays drive
    std::string scenario;                         // of every episode; JSON
};

// One row of each for an environment and, where it has sides, a side: [envs][2][rows]…
struct BatchArrays {
    float* own = nullptr;
    float* mates = nullptr;
    float* enemies = nullptr;
    float* globals = nullptr;
    float* final_own = nullptr;  // of episodes that ended in a step that began the next one
    float* final_mates = nullptr;
    float* final_enemies = nullptr;
    float* final_globals = nullptr;
    const float* move = nullptr;
    const float* spin = nullptr;
    const std::int32_t* go = nullptr;
    const std::int32_t* fire = nullptr;
    const std::int32_t* aim = nullptr;
    const std::int32_t* order = nullptr;
    float* rewards = nullptr;            // [envs][2]
    std::uint8_t* terminated = nullptr;  // [envs]
    std::uint8_t* truncated = nullptr;
    std::uint8_t* began = nullptr;   // whether the step began an episode
    std::int32_t* winner = nullptr;  // -1 none or draw, 0 red, 1 blue, of the last ended episode
    std::int32_t* ticks = nullptr;
    std::uint64_t* seeds = nullptr;  // of the episodes
};

// Threads that do the same for every environment; the caller is one of them.
class Crew {
  public:
    explicit Crew(int threads);
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;
    ~Crew();
    // Calls work(i) for i in 0 … count-1; throws what one of them threw.
    template <typename Work>
    void each(int count, Work work) {
        job_ = [](void* context, int i) { (*static_cast<Work*>(context))(i); };
        context_ = &work;
        run(count);
    }

  private:
    void run(int count);
    void labour();
    void take_turns();

    void (*job_)(void*, int) = nullptr;
    void* context_ = nullptr;
    int count_ = 0;
    std::atomic<int> next_{0};
    std::atomic<int> busy_{0};
    std::atomic<std::uint32_t> round_{0};
    std::atomic<bool> ending_{false};
    std::mutex mutex_;
    std::exception_ptr problem_;
    std::vector<std::thread> threads_;
};

class SimBatch {
  public:
    // Throws RulesError for what is not allowed.
    SimBatch(std::shared_ptr<const Rules> rules, const Lineups& lineups, BatchOptions options,
             BatchArrays arrays);

    // Begins an episode in each of the environments, with the seeds in their array.
    void reset(const std::vector<int>& envs);
    // Advances all environments that are not over by one step.
    void step();

    const Spaces& spaces() const noexcept { return spaces_; }
    // The tick digests of an environment's episode, and of the one before it.
    const std::vector<std::uint64_t>& digests(int env) const {
        return envs_[static_cast<std::size_t>(env)].digests;
    }
    const std::vector<std::uint64_t>& last_digests(int env) const {
        return envs_[static_cast<std::size_t>(env)].last_digests;
    }
    std::string observe(int env, int team);
    const BatchOptions& options() const noexcept { return options_; }

  private:
    struct Env {
        std::unique_ptr<Sim> sim;
        std::array<BotMemory, kTeams> memory;
        std::vector<std::uint64_t> digests, last_digests;
        std::array<Word, kTeams> score{};
        int steps = 0;
        bool over = true;
        bool ended_before = false;
    };

    void begin(int env);
    void advance(int env);
    void act(Env& env, int index, bool first);
    bool steered(int env) const;
    void show(int env);
    void write(Sim& sim, int env, float* own, float* mates, float* enemies, float* globals);
    void keep_final(int env);
    Env& at(int env) { return envs_[static_cast<std::size_t>(env)]; }
    std::size_t side(int env, int team) const {
        return static_cast<std::size_t>(env) * kTeams + static_cast<std::size_t>(team);
    }

    std::shared_ptr<const Rules> rules_;
    BatchOptions options_;
    BatchArrays arrays_;
    Spaces spaces_;
    Navigator navigator_;
    std::vector<Env> envs_;
    Crew crew_;
};

}  // namespace sysone::arena
