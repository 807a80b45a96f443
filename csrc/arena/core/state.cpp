#include "arena/core/state.h"

#include "arena/core/json.h"

namespace sysone::arena {

const std::vector<FieldText>& state_fields() {
    static const std::vector<FieldText> fields = {
#define ARENA_MATCH(name, text) {"match", #name, 1, text},
#define ARENA_MATCH_LIST(name, n, text) {"match", #name, n, text},
#define ARENA_TEAM(name, text) {"team", #name, 1, text},
#define ARENA_TEAM_LIST(name, n, text) {"team", #name, n, text},
#define ARENA_ROBOT(name, text) {"robot", #name, 1, text},
#define ARENA_ROBOT_LIST(name, n, text) {"robot", #name, n, text},
#define ARENA_PROJECTILE(name, text) {"projectile", #name, 1, text},
#include "arena/core/state_fields.def"
    };
    return fields;
}

namespace {

class Object {
  public:
    explicit Object(std::string& out) : out_(out) { out_ += '{'; }
    ~Object() { out_ += '}'; }
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;

    void key(const char* name) {
        if (!first_) out_ += ',';
        first_ = false;
        append_json_text(out_, name);
        out_ += ':';
    }
    void put(const char* name, Word value) {
        key(name);
        append_number(out_, value);
    }
    template <std::size_t n>
    void put(const char* name, const std::array<Word, n>& values) {
        key(name);
        out_ += '[';
        for (std::size_t i = 0; i < n; ++i) {
            if (i > 0) out_ += ',';
            append_number(out_, values[i]);
        }
        out_ += ']';
    }

  private:
    std::string& out_;
    bool first_ = true;
};

void append(std::string& out, const MatchState& state) {
    Object object(out);
#define ARENA_MATCH(name, text) object.put(#name, state.name);
#define ARENA_MATCH_LIST(name, n, text) object.put(#name, state.name);
#include "arena/core/state_fields.def"
}

void append(std::string& out, const TeamState& state) {
    Object object(out);
#define ARENA_TEAM(name, text) object.put(#name, state.name);
#define ARENA_TEAM_LIST(name, n, text) object.put(#name, state.name);
#include "arena/core/state_fields.def"
}

void append(std::string& out, const RobotState& state) {
    Object object(out);
#define ARENA_ROBOT(name, text) object.put(#name, state.name);
#define ARENA_ROBOT_LIST(name, n, text) object.put(#name, state.name);
#include "arena/core/state_fields.def"
}

void append(std::string& out, const Projectile& state) {
    Object object(out);
#define ARENA_PROJECTILE(name, text) object.put(#name, state.name);
#include "arena/core/state_fields.def"
}

template <typename Items>
void append_list(std::string& out, const Items& items) {
    out += '[';
    bool first = true;
    for (const auto& item : items) {
        if (!first) out += ',';
        first = false;
        append(out, item);
    }
    out += ']';
}

}  // namespace

std::string state_json(const State& state) {
    std::string out;
    {
        Object object(out);
        object.put("tick", state.tick);
        object.put("phase", static_cast<Word>(state.phase));
        object.key("match");
        append(out, state.match);
        object.key("teams");
        append_list(out, state.teams);
        object.key("robots");
        append_list(out, state.robots);
        object.key("projectiles");
        append_list(out, state.projectiles);
    }
    return out;
}

}  // namespace sysone::arena
