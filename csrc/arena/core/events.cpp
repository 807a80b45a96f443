#include "arena/core/events.h"

#include <string_view>
#include <vector>

#include "arena/core/field.h"
#include "arena/core/json.h"

namespace sysone::arena {
namespace {

struct Fields {
    std::string name;
    std::vector<std::pair<std::string, char>> items;  // name and first letter of the kind
};

Fields read_fields(const char* name, std::string_view spec) {
    Fields fields{name, {}};
    while (!spec.empty()) {
        const std::size_t colon = spec.find(':'), space = std::min(spec.find(' '), spec.size());
        fields.items.emplace_back(spec.substr(0, colon), spec[colon + 1]);
        spec.remove_prefix(std::min(space + 1, spec.size()));
    }
    return fields;
}

const std::vector<Fields>& all_fields() {
    static const std::vector<Fields> fields = {
#define ARENA_EVENT(name, spec) read_fields(#name, spec),
#include "arena/core/events.def"
#undef ARENA_EVENT
    };
    return fields;
}

}  // namespace

const char* text_of(Name name) {
    static constexpr std::array kNames = {
#define ARENA_NAME(name) #name,
#include "arena/core/names.def"
#undef ARENA_NAME
    };
    return kNames[static_cast<std::size_t>(name)];
}

void append_event_id(std::string& out, Word id) {
    if (id == kNobody) {
        out += "null";
        return;
    }
    out += (id >> 8) == 0 ? "\"red" : "\"blue";
    const Word slot = id & 255;
    if (slot == kBaseSlot) {
        out += ":base";
    } else if (slot == kOutpostSlot) {
        out += ":outpost";
    } else if (slot == kDartSlot) {
        out += ":dart";
    } else if (slot != 0) {
        out += '-';
        append_number(out, slot);
    }
    out += '"';
}

void append_zone(std::string& out, Word bit) {
    out += '"';
    if (bit < 18) out += bit % 2 == 0 ? "red:" : "blue:";
    out += zone_name(bit < 18 ? static_cast<Zone>(bit / 2) : Zone::kHighland);
    out += '"';
}

void append_event(std::string& out, const Event& event) {
    const Fields& fields = all_fields()[static_cast<std::size_t>(event.type)];
    out += R"({"tick":)";
    append_number(out, event.tick);
    out += R"(,"type":)";
    append_json_text(out, fields.name);
    for (std::size_t i = 0; i < fields.items.size(); ++i) {
        const auto& [name, kind] = fields.items[i];
        const Word value = event.values[i];
        out += ",\"" + name + "\":";
        if (kind == 'i') {
            append_event_id(out, value);
        } else if (kind == 'w') {
            append_json_text(out, text_of(static_cast<Name>(value)));
        } else if (kind == 'z') {
            append_zone(out, value);
        } else {
            append_number(out, value);
        }
    }
    out += '}';
}

}  // namespace sysone::arena
