#include "arena/core/field.h"

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "arena/core/rules.h"

namespace sysone::arena {

Need need_from(std::string_view name) {
    constexpr std::array<std::string_view, 6> kNames = {
        "road_step", "tunnel", "central_step", "trapezoid_step", "slope_43", "fly_ramp"};
    const auto found = std::find(kNames.begin(), kNames.end(), name);
    if (found == kNames.end()) throw RulesError("no gate needs " + std::string(name));
    return static_cast<Need>(found - kNames.begin());
}

const char* zone_name(Zone zone) {
    constexpr std::array<const char*, kZoneKinds> kNames = {
        "base",       "supply",    "outpost",  "fortress",    "assembly",
        "highground", "workbench", "resource", "penalty_fly", "central_highland"};
    return kNames[static_cast<std::size_t>(zone)];
}

namespace {

// A set of cells: whether a point, given in millimetres, is in the shape.
using Shape = std::function<bool(Wide, Wide)>;

std::vector<Wide> numbers(const Json& list) {
    std::vector<Wide> found;
    for (const Json& item : list.items) found.push_back(item.integer());
    return found;
}

const Json& part(const Json& object, const char* key) {
    const Json* found = object.find(key);
    if (found == nullptr) throw RulesError(std::string("the field lacks ") + key);
    return *found;
}

Shape rectangle(std::vector<Wide> r) {
    if (r.size() != 4) throw RulesError("a rectangle of the field needs four numbers");
    return [r](Wide x, Wide y) { return r[0] <= x && x < r[2] && r[1] <= y && y < r[3]; };
}

Shape polygon(const Json& corners) {
    std::vector<std::pair<Wide, Wide>> p;
    for (const Json& corner : corners.items) {
        const auto xy = numbers(corner);
        if (xy.size() != 2) throw RulesError("a corner of the field needs two numbers");
        p.emplace_back(xy[0], xy[1]);
    }
    return [p](Wide x, Wide y) {
        bool in = false;
        for (std::size_t i = 0, j = p.size() - 1; i < p.size(); j = i++) {
            const auto [xi, yi] = p[i];
            const auto [xj, yj] = p[j];
            if ((yi > y) == (yj > y)) continue;
            // x < xi + (xj - xi)(y - yi)/(yj - yi), multiplied out
            const Wide rise = yj - yi;
            const Wide left = (x - xi) * rise;
            const Wide right = (xj - xi) * (y - yi);
            if (rise > 0 ? left < right : left > right) in = !in;
        }
        return in;
    };
}

Shape circle(std::vector<Wide> c) {
    if (c.size() != 3) throw RulesError("a circle of the field needs three numbers");
    return [c](Wide x, Wide y) {
        return (x - c[0]) * (x - c[0]) + (y - c[1]) * (y - c[1]) <= c[2] * c[2];
    };
}

Shape segment(std::vector<Wide> s, Wide reach) {
    if (s.size() != 4) throw RulesError("a wall of the field needs four numbers");
    return [s, reach](Wide x, Wide y) {
        const Wide dx = s[2] - s[0], dy = s[3] - s[1];
        const Wide px = x - s[0], py = y - s[1];
        const Wide along = px * dx + py * dy, size = dx * dx + dy * dy;
        if (along <= 0) return px * px + py * py <= reach * reach;
        if (along >= size) {
            const Wide qx = x - s[2], qy = y - s[3];
            return qx * qx + qy * qy <= reach * reach;
        }
        const Wide cross = px * dy - py * dx;
        return cross * cross <= reach * reach * size;
    };
}

Shape shape_of(const Json& item) {
    if (const Json* rect = item.find("rect")) return rectangle(numbers(*rect));
    if (const Json* poly = item.find("poly")) return polygon(*poly);
    if (const Json* disc = item.find("circle")) return circle(numbers(*disc));
    throw RulesError("an item of the field has no shape");
}

bool in_season(const Json& item, const std::string& season) {
    const Json* seasons = item.find("seasons");
    if (seasons == nullptr) return true;
    return std::any_of(seasons->items.begin(), seasons->items.end(),
                       [&](const Json& name) { return name.text == season; });
}

std::string text_of(const Json& item, const char* key) { return part(item, key).text; }

}  // namespace

namespace {

// Calls `write(cell, x, y, side)` for each cell of a shape and then for its copy turned round; x, y
// is the centre of the original.
template <typename Write>
void draw(const Json& item, const Shape& shape, int columns, int rows, Write write) {
    std::vector<std::pair<int, std::pair<Wide, Wide>>> cells;
    for (int j = 0; j < rows; ++j) {
        const Wide y = Field::kCellMm * j + Field::kCellMm / 2;
        for (int i = 0; i < columns; ++i) {
            const Wide x = Field::kCellMm * i + Field::kCellMm / 2;
            if (shape(x, y)) cells.push_back({j * columns + i, {x, y}});
        }
    }
    const bool both = text_of(item, "side") == "both";
    for (const auto& [cell, centre] : cells) write(cell, centre.first, centre.second, 0);
    for (const auto& [cell, centre] : cells) {
        write(columns * rows - 1 - cell, centre.first, centre.second, both ? 0 : 1);
    }
}

}  // namespace

Field::Field(const Json& file, const std::string& season) {
    if (text_of(file, "format") != "arena-field-v1") {
        throw RulesError("the field's format must be 'arena-field-v1'");
    }
    const auto size = numbers(part(file, "size_mm"));
    if (size.size() != 2 || part(file, "cell_mm").integer() != kCellMm || size[0] <= 0 ||
        size[1] <= 0 || size[0] > 60000 || size[1] > 60000 || size[0] % kCellMm != 0 ||
        size[1] % kCellMm != 0) {
        throw RulesError("the field must be up to 60 m a side in cells of 50 mm");
    }
    columns_ = static_cast<int>(size[0] / kCellMm);
    rows_ = static_cast<int>(size[1] / kCellMm);
    cells_ = columns_ * rows_;
    width_um_ = static_cast<Word>(size[0] * 1000);
    height_um_ = static_cast<Word>(size[1] * 1000);
    const std::size_t n = at(cells_);
    ground_.assign(n, 0);
    solid_.assign(n, 0);
    gate_.assign(n, 0);
    card_.assign(n, 0);
    rough_.assign(n, 100);
    zones_.assign(n, 0);
    building_.assign(n, Building::kNone);
    read_ground(part(file, "ground"), season);
    read_solids(file, season);
    read_labels(file, season);
    read_points(part(file, "points"));
    finish();
}

void Field::read_ground(const Json& items, const std::string& season) {
    for (const Json& item : items.items) {
        if (!in_season(item, season)) continue;
        const Json* slope = item.find("slope");
        if (slope == nullptr) {
            const auto z = static_cast<std::int16_t>(part(item, "z").integer());
            draw(item, shape_of(item), columns_, rows_,
                 [&](int cell, Wide, Wide, int) { ground_[at(cell)] = z; });
            continue;
        }
        const auto rect = numbers(part(item, "rect"));
        const bool along_x = text_of(*slope, "axis") == "x";
        const Wide low = part(*slope, "z_at_min").integer();
        const Wide high = part(*slope, "z_at_max").integer();
        const Wide c0 = along_x ? rect[0] : rect[1];
        const Wide c1 = along_x ? rect[2] : rect[3];
        draw(item, shape_of(item), columns_, rows_, [&](int cell, Wide x, Wide y, int) {
            const Wide c = along_x ? x : y;
            ground_[at(cell)] =
                static_cast<std::int16_t>(low + (high - low) * (c - c0) / (c1 - c0));
        });
    }
}

void Field::read_solids(const Json& file, const std::string& season) {
    for (const Json& item : part(file, "solids").items) {
        if (!in_season(item, season)) continue;
        const auto top = static_cast<std::int16_t>(part(item, "top").integer());
        const std::string id = text_of(item, "id");
        draw(item, shape_of(item), columns_, rows_, [&](int cell, Wide, Wide, int side) {
            solid_[at(cell)] = top;
            building_[at(cell)] =
                id == "base"      ? (side == 0 ? Building::kRedBase : Building::kBlueBase)
                : id == "outpost" ? (side == 0 ? Building::kRedOutpost : Building::kBlueOutpost)
                                  : Building::kNone;
        });
        if (id == "base") {
            const auto r = numbers(part(item, "rect"));
            base_centre_ = {static_cast<Word>((r[0] + r[2]) / 2),
                            static_cast<Word>((r[1] + r[3]) / 2), 0};
            base_half_width_ = static_cast<Word>((r[3] - r[1]) / 2);
        } else if (id == "outpost") {
            const auto c = numbers(part(item, "circle"));
            outpost_ = {static_cast<Word>(c[0]), static_cast<Word>(c[1]), 0};
            outpost_radius_ = static_cast<Word>(c[2]);
        }
    }
    const Json& walls = part(file, "walls");
    const Wide reach = part(walls, "thickness_mm").integer() / 2;
    for (const Json& item : part(walls, "items").items) {
        if (!in_season(item, season)) continue;
        const auto h = static_cast<std::int16_t>(part(item, "h").integer());
        draw(item, segment(numbers(part(item, "seg")), reach), columns_, rows_,
             [&](int cell, Wide, Wide, int) {
                 solid_[at(cell)] = static_cast<std::int16_t>(ground_[at(cell)] + h);
                 building_[at(cell)] = Building::kNone;
             });
    }
}

void Field::read_labels(const Json& file, const std::string& season) {
    for (const Json& item : part(file, "rough").items) {
        if (!in_season(item, season)) continue;
        const auto pct = static_cast<std::uint8_t>(part(item, "speed_pct").integer());
        draw(item, shape_of(item), columns_, rows_,
             [&](int cell, Wide, Wide, int) { rough_[at(cell)] = pct; });
    }
    for (const Json& item : part(file, "gates").items) {
        if (!in_season(item, season)) continue;
        Gate gate{need_from(text_of(item, "need"))};
        if (const Json* pct = item.find("speed_pct"))
            gate.speed_pct = static_cast<Word>(pct->integer());
        if (const Json* least = item.find("min_speed_mm_s")) {
            gate.min_speed_mm_s = static_cast<Word>(least->integer());
            gate.direction = text_of(item, "direction") == "+x" ? 1 : -1;
        }
        gates_.push_back(gate);
        const auto first = static_cast<std::uint8_t>(gates_.size());
        gate.direction = -gate.direction;  // turned round for blue
        gates_.push_back(gate);
        draw(item, shape_of(item), columns_, rows_, [&](int cell, Wide, Wide, int side) {
            gate_[at(cell)] = static_cast<std::uint8_t>(first + side);
        });
    }
    for (const Json& item : part(file, "zones").items) {
        if (!in_season(item, season)) continue;
        const std::string id = text_of(item, "id");
        int kind = 0;
        while (kind < kZoneKinds && id != zone_name(static_cast<Zone>(kind))) ++kind;
        if (kind == kZoneKinds) throw RulesError("no zone is named " + id);
        const Json* lowest = item.find("min_z");
        draw(item, shape_of(item), columns_, rows_, [&](int cell, Wide, Wide, int side) {
            if (lowest != nullptr && ground_[at(cell)] < lowest->integer()) return;
            zones_[at(cell)] |= zone_bit(static_cast<Zone>(kind), side);
        });
    }
    // one group for each crossing, named by what stands before the card's last underscore
    std::vector<std::string> groups;
    for (const Json& item : part(file, "cards").items) {
        if (!in_season(item, season)) continue;
        const std::string id = text_of(item, "id"), kind = text_of(item, "kind");
        const std::string group = id.substr(0, id.rfind('_'));
        auto found = std::find(groups.begin(), groups.end(), group);
        if (found == groups.end()) found = groups.insert(groups.end(), group);
        const auto base = static_cast<Word>((found - groups.begin()) * 2 + 1);
        Card card;
        card.kind = kind == "road"       ? Crossing::kRoad
                    : kind == "highland" ? Crossing::kHighland
                    : kind == "fly"      ? Crossing::kFly
                                         : Crossing::kTunnel;
        card.order = static_cast<Word>(part(item, "order").integer());
        card.group = base;
        cards_.push_back(card);
        const auto first = static_cast<std::uint8_t>(cards_.size());
        card.group = base + 1;
        cards_.push_back(card);
        draw(item, shape_of(item), columns_, rows_, [&](int cell, Wide, Wide, int side) {
            card_[at(cell)] = static_cast<std::uint8_t>(first + side);
        });
    }
}

void Field::read_points(const Json& points) {
    const auto point = [](const Json& list) {
        const auto n = numbers(list);
        if (n.size() < 2) throw RulesError("a point of the field needs two or three numbers");
        return Point{static_cast<Word>(n[0]), static_cast<Word>(n[1]),
                     n.size() > 2 ? static_cast<Word>(n[2]) : 0};
    };
    const auto by_slot = [&](const char* key, std::array<Point, 8>& into) {
        for (const auto& [slot, list] : part(points, key).members) {
            if (slot.size() != 1 || slot[0] < '1' || slot[0] > '7') {
                throw RulesError("no slot is named " + slot);
            }
            into[static_cast<std::size_t>(slot[0] - '0')] = point(list);
        }
    };
    by_slot("spawn", spawns_);
    spawns_2027_ = spawns_;
    by_slot("spawn_2027", spawns_2027_);
    for (const Json& list : part(points, "deck_spawn").items) deck_spawns_.push_back(point(list));
    rune_face_ = point(part(points, "rune_face"));
    radar_ = point(part(points, "radar"));
    base_armour_ = point(part(points, "base_armour"));
    outpost_.z_mm = static_cast<Word>(part(points, "outpost_armour_z").integer());
}

void Field::finish() {
    top_.resize(ground_.size());
    for (std::size_t i = 0; i < ground_.size(); ++i) {
        top_[i] = std::max(ground_[i], solid_[i]);
        highest_ = std::max<Word>(highest_, top_[i]);
    }
    // Each block's highest cell, then the highest of a block and its neighbours: what lies within
    // one block's length of a cell is no higher than its entry.
    const int across = (columns_ + kBlockCells - 1) / kBlockCells;
    const int up = (rows_ + kBlockCells - 1) / kBlockCells;
    std::vector<std::int16_t> blocks(at(across * up), 0);
    coarse_of_.resize(ground_.size());
    for (int j = 0; j < rows_; ++j) {
        for (int i = 0; i < columns_; ++i) {
            const int block = (j / kBlockCells) * across + i / kBlockCells;
            const std::size_t cell = at(j * columns_ + i);
            coarse_of_[cell] = static_cast<std::uint16_t>(block);
            blocks[at(block)] = std::max(blocks[at(block)], top_[cell]);
        }
    }
    coarse_.assign(blocks.size(), 0);
    for (int j = 0; j < up; ++j) {
        for (int i = 0; i < across; ++i) {
            std::int16_t& here = coarse_[at(j * across + i)];
            for (int v = std::max(j - 1, 0); v <= std::min(j + 1, up - 1); ++v) {
                for (int u = std::max(i - 1, 0); u <= std::min(i + 1, across - 1); ++u) {
                    here = std::max(here, blocks[at(v * across + u)]);
                }
            }
        }
    }
}

int Field::prepare_radius(Word radius_mm) {
    const auto known = std::find(radii_.begin(), radii_.end(), radius_mm);
    if (known != radii_.end()) return static_cast<int>(known - radii_.begin());
    std::vector<std::uint8_t> raster(ground_.size(), 0);
    std::vector<std::pair<int, int>> disc;
    const int reach = radius_mm / kCellMm;
    for (int v = -reach; v <= reach; ++v) {
        for (int u = -reach; u <= reach; ++u) {
            if (Wide{kCellMm} * kCellMm * (u * u + v * v) <= Wide{radius_mm} * radius_mm) {
                disc.emplace_back(u, v);
            }
        }
    }
    for (int j = 0; j < rows_; ++j) {
        for (int i = 0; i < columns_; ++i) {
            const int x = kCellMm * i + kCellMm / 2, y = kCellMm * j + kCellMm / 2;
            if (x < radius_mm || y < radius_mm || columns_ * kCellMm - x < radius_mm ||
                rows_ * kCellMm - y < radius_mm) {
                raster[at(j * columns_ + i)] = 1;
            }
            if (solid_[at(j * columns_ + i)] == 0) continue;
            for (const auto& [u, v] : disc) {
                if (i + u >= 0 && i + u < columns_ && j + v >= 0 && j + v < rows_) {
                    raster[at((j + v) * columns_ + i + u)] = 1;
                }
            }
        }
    }
    radii_.push_back(radius_mm);
    blocked_.push_back(std::move(raster));
    return static_cast<int>(radii_.size()) - 1;
}

Point Field::spawn(int slot, int team, const std::string& season, bool deck, bool aerial) const {
    const auto& places = season == "2027" ? spawns_2027_ : spawns_;
    if (aerial) return turned(places[6], team);
    if (deck && at(slot - 1) < deck_spawns_.size()) {
        return turned(deck_spawns_[at(slot - 1)], team);
    }
    return turned(places[at(slot)], team);
}

}  // namespace sysone::arena
