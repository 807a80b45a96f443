#include "trex/match.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <limits>
#include <map>
#include <queue>
#include <stdexcept>
#include <string>
#include <utility>

#include "trex/keys.h"
#include "trex/landing_times.h"
#include "trex/shield.h"

namespace sysone::trex {
namespace {

constexpr double kLeastMs = 0.001;  // no answer is there the instant it is asked for

// A moment that questions may be asked about.
struct View {
    int frame;
    Snapshot snapshot;
    int run;
    int applied;  // highest question whose answer had landed
    int epoch;
};

// A question with its answer.
struct Decision {
    int seq;
    int run;
    int view_frame;
    int epoch;
    std::optional<Action> pending;
    int pending_seq = 0;  // of the answer that it reckons with; 0 for none
    Action executed = Action::kRun;
    bool intervened = false;
    bool agreed = false;
    bool robust = true;
};

struct Coming {
    double time;  // ticks
    Decision decision;

    bool operator>(const Coming& other) const {
        return std::pair(time, decision.seq) > std::pair(other.time, other.decision.seq);
    }
};

const char* stream_of(Policy policy) {
    return policy == Policy::kRandomSafe ? "random_safe-" : "random-";
}

class Match {
  public:
    Match(std::int64_t seed, const MatchOptions& options, std::span<const double> latencies_ms,
          std::span<const double> warm_ms)
        : options_(options),
          inflight_(options.lockstep ? 1 : std::max(1, options.inflight)),
          latencies_ms_(latencies_ms),
          game_(seed, {options.style, seed}, {.scenery = false}),
          keys_(game_),
          times_(inflight_, options.lockstep),
          random_(stream_of(options.policy) + std::to_string(seed)),
          since_(options.lockstep.value_or(0)) {
        times_.start_from(warm_ms);
    }

    MatchResult play() {
        game_.press_jump();
        if (!options_.lockstep) publish();
        ask();
        while ((options_.lockstep ? game_frames_ : frame_) < options_.frames) tick();
        return {std::move(game_), frame_, counts_, std::move(finished_scores_)};
    }

  private:
    // The clock ------------------------------------------------------------------------------

    void tick() {
        const int coming = frame_ + 1;
        while (!under_way_.empty() && under_way_.top().time <= coming) {
            now_ = std::max(now_, under_way_.top().time);
            deliver(under_way_.top().decision);
            under_way_.pop();
            ask();
        }
        now_ = coming;
        frame_ = coming;
        if (game_.crashed()) {
            after_crash();
        } else if (!options_.lockstep) {
            collect();
            play_frame();
            publish();
        } else {
            lockstep(*options_.lockstep);
        }
        ask();
    }

    void after_crash() {
        collect();
        game_.step();
        if (game_.crash_ms() < kRestartDelayMs) return;
        finished_scores_.push_back(game_.score());
        keys_.let_go();
        last_asked_.reset();
        change_keys(0);
        since_ = options_.lockstep.value_or(0);
        waiting_ = false;
        times_.forget_run();
        finished_.clear();
        game_.restart();
        publish();
    }

    void lockstep(int frames_per_decision) {
        if (waiting_) {
            if (collect() == 0) return;
            waiting_ = false;
        }
        if (game_.playing() && since_ >= frames_per_decision) {
            since_ = 0;
            waiting_ = true;
            publish();
            return;
        }
        ++since_;
        play_frame();
    }

    void play_frame() {
        if (options_.guarded && game_.playing() && !game_.crashed()) emergency();
        if (game_.playing() && !game_.crashed()) keys_.enforce();
        game_.step();
        ++game_frames_;
    }

    void emergency() {
        const Action held = as_action(keys_.held());
        const Action saving = protect(moment(), held);
        if (saving == held) return;
        change_keys(0);
        keys_.apply(saving);
        ++counts_.emergency_saves;
    }

    Snapshot moment() const { return snapshot(game_, keys_.held()); }

    // Answers to earlier views become stale, but for those that reckoned with question `seq`.
    void change_keys(int seq) {
        ++epoch_;
        changed_by_ = seq;
    }

    // Asking ---------------------------------------------------------------------------------

    void publish() {
        view_.reset();
        if (options_.policy == Policy::kHold || !game_.playing() || game_.crashed()) return;
        view_ = View{frame_, moment(), game_.run_index(), applied_, epoch_};
    }

    void ask() {
        if (static_cast<int>(under_way_.size()) >= inflight_ || !view_) return;
        if (inflight_ > 1 && last_asked_ && view_->frame - *last_asked_ < times_.stagger()) return;
        int unapplied = 0;
        const Decision* pending = nullptr;
        for (const Decision& decision : finished_) {
            if (decision.seq <= view_->applied) continue;
            pending = unapplied++ == 0 ? &decision : nullptr;
        }
        if (inflight_ > 1) {
            if (unapplied > 1) return;
        } else {
            const bool fresh = unapplied == 0 && view_->frame != last_asked_;
            if (!fresh && (pending == nullptr || options_.lockstep)) return;
        }
        if (options_.checked_premise && pending != nullptr && !premise_holds(*pending)) {
            pending = nullptr;
        }
        if (last_asked_ && view_->frame > *last_asked_) {
            times_.asked_after(view_->frame - *last_asked_);
        }
        last_asked_ = view_->frame;
        Decision decision{++seq_, view_->run, view_->frame, view_->epoch, std::nullopt};
        Snapshot asked = view_->snapshot;
        if (pending != nullptr) {
            decision.pending = asked.pending = pending->executed;
            decision.pending_seq = pending->seq;
        }
        if (static_cast<std::size_t>(seq_) > latencies_ms_.size()) {
            throw std::invalid_argument("latencies_ms: " + std::to_string(latencies_ms_.size()) +
                                        " do not suffice for " + std::to_string(options_.frames) +
                                        " frames");
        }
        const double latency_ms =
            std::max(kLeastMs, latencies_ms_[static_cast<std::size_t>(seq_ - 1)]);
        answer(decision, planner_.plan(asked, times_.timing()));
        double time = now_ + latency_ms / kFrameMs;
        // Where the clock is too coarse for so short a latency, the answer has the next tick.
        if (time <= now_) time = frame_ + 2;
        under_way_.push({time, decision});
    }

    void answer(Decision& decision, const Plan& plan) {
        Action proposed = plan.best;
        if (options_.policy != Policy::kPlannerBest) {
            const Drawn drawn = drawn_from(plan, options_.policy);
            proposed = drawn.actions[static_cast<std::size_t>(random_.below(drawn.count))];
        }
        decision.executed = proposed;
        if (options_.guarded && !plan.safe[index(proposed)]) {
            for (const Action action : kAllActions) {
                if (!plan.safe[index(action)]) continue;
                decision.executed = action;
                break;
            }
        }
        decision.intervened = decision.executed != proposed;
        // A jump key in the air only lets go of the duck key, which is what run does.
        decision.agreed = proposed == plan.best || (plan.airborne && proposed != Action::kDuck &&
                                                    plan.best != Action::kDuck);
        decision.robust = plan.robust;
    }

    void deliver(const Decision& decision) {
        if (std::ssize(finished_) == kFinishedKept) finished_.pop_front();
        finished_.push_back(decision);
        landing_.push_back(decision);
    }

    // Landing --------------------------------------------------------------------------------

    int collect() {
        int landed = 0;
        for (; !landing_.empty(); ++landed) {
            const Decision decision = landing_.front();
            landing_.pop_front();
            land(decision);
        }
        return landed;
    }

    void land(const Decision& decision) {
        applied_ = std::max(applied_, decision.seq);
        const bool current = decision.run == game_.run_index() && !game_.crashed();
        if (current && !options_.lockstep) {
            times_.observe(std::max(0, frame_ - decision.view_frame - 1));
        }
        if (!current || !premise_holds(decision)) {
            if (std::ssize(dropped_) == kDroppedKept) dropped_.pop_front();
            dropped_.push_back(decision.seq);
            ++counts_.discarded;
            return;
        }
        Action action = decision.executed;
        if (options_.guarded) {
            action = protect(moment(), action);
            if (action != decision.executed) {
                ++counts_.arrival_saves;
                rewrite(decision.seq, action);
            }
        }
        accepted_ = decision.seq;
        accepted_actions_[decision.seq] = action;
        if (std::ssize(accepted_actions_) > kAcceptedKept) {
            accepted_actions_.erase(accepted_actions_.begin());
        }
        if (keys_.changed_by(action)) change_keys(decision.seq);
        keys_.apply(action);
        ++counts_.decisions;
        counts_.best_effort += !decision.robust;
        counts_.shield_interventions += decision.intervened;
        counts_.agreed += decision.agreed;
    }

    // The arrival shield changed the action: questions yet to come reckon with the new one.
    void rewrite(int seq, Action action) {
        for (Decision& decision : finished_) {
            if (decision.seq == seq) decision.executed = action;
        }
    }

    // Whether the world is still the one that the question was asked about.
    bool premise_holds(const Decision& decision) const {
        if (decision.seq <= accepted_) return false;
        if (decision.pending_seq != 0) {
            if (std::find(dropped_.begin(), dropped_.end(), decision.pending_seq) !=
                dropped_.end()) {
                return false;
            }
            const auto taken = accepted_actions_.find(decision.pending_seq);
            if (taken == accepted_actions_.end() || taken->second != decision.pending) return false;
        }
        if (decision.epoch == epoch_) return true;
        // One change is fine if it is the one that the question reckoned with.
        return epoch_ == decision.epoch + 1 && changed_by_ != 0 &&
               changed_by_ == decision.pending_seq;
    }

    const MatchOptions& options_;
    int inflight_;
    std::span<const double> latencies_ms_;

    Game game_;
    Keys keys_;
    Planner planner_;
    LandingTimes times_;
    PythonRandom random_;
    MatchCounts counts_;
    std::vector<int> finished_scores_;

    double now_ = 0;  // ticks
    int frame_ = 0;
    int game_frames_ = 0;

    int seq_ = 0;  // the newest question; they count from 1
    std::optional<View> view_;
    std::optional<int> last_asked_;  // frame of its view
    std::priority_queue<Coming, std::vector<Coming>, std::greater<>> under_way_;
    std::deque<Decision> finished_;  // answers that have come, also those that have landed
    std::deque<Decision> landing_;   // those that the next frame lands

    int applied_ = 0;
    int accepted_ = 0;
    std::map<int, Action> accepted_actions_;
    std::deque<int> dropped_;
    int epoch_ = 0;
    int changed_by_ = 0;  // the question whose answer changed the keys last; 0 for the shield
    int since_ = 0;
    bool waiting_ = false;
};

}  // namespace

MatchResult play_match(std::int64_t seed, const MatchOptions& options,
                       std::span<const double> latencies_ms, std::span<const double> warm_ms) {
    if (warm_ms.empty()) throw std::invalid_argument("warm_ms must not be empty");
    return Match(seed, options, latencies_ms, warm_ms).play();
}

}  // namespace sysone::trex
