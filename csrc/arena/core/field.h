// The field: shapes rasterised on a grid of 50 mm cells, exactly symmetric under a half turn.
//
// Positions on a cell's edge belong to different cells seen from the two sides. So that a match
// mirrors exactly, every lookup names the team it is for: blue's are made in the field turned
// round.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "arena/core/json.h"
#include "arena/core/numbers.h"

namespace sysone::arena {

enum class Need : std::uint8_t {
    kRoadStep,
    kTunnel,
    kCentralStep,
    kTrapezoidStep,
    kSlope43,
    kFlyRamp
};
Need need_from(std::string_view name);  // throws RulesError

enum class Zone : std::uint8_t {
    kBase,
    kSupply,
    kOutpost,
    kFortress,
    kAssembly,
    kHighground,
    kWorkbench,
    kResource,
    kPenaltyFly,
    kHighland  // the last one is common to both sides
};
inline constexpr int kZoneKinds = 10;
const char* zone_name(Zone zone);
constexpr Word zone_bit(Zone zone, int side) {
    return Word{1} << (zone == Zone::kHighland ? 18 : static_cast<int>(zone) * 2 + side);
}

struct Gate {
    Need need = Need::kRoadStep;
    Word speed_pct = 100;
    Word min_speed_mm_s = 0;
    Word direction = 0;  // +1 or -1 along x, for the fly ramp
};

enum class Crossing : std::uint8_t { kRoad, kHighland, kFly, kTunnel };

struct Card {
    Crossing kind = Crossing::kRoad;
    Word order = 0;
    Word group = 0;  // one number for each crossing of each half, from 1
};

struct Point {
    Word x_mm = 0, y_mm = 0, z_mm = 0;
};

enum class Building : std::uint8_t { kNone, kRedBase, kBlueBase, kRedOutpost, kBlueOutpost };

class Field {
  public:
    static constexpr int kCellMm = 50;
    static constexpr Word kCellUm = kCellMm * 1000;
    static constexpr int kBlockCells = 8;  // of the coarse height grid

    Field() = default;
    Field(const Json& file, const std::string& season);

    // The raster of cells where a body of this radius cannot be; the same radius gives the same.
    int prepare_radius(Word radius_mm);

    int columns() const noexcept { return columns_; }
    int rows() const noexcept { return rows_; }
    Word width_um() const noexcept { return width_um_; }
    Word height_um() const noexcept { return height_um_; }

    bool inside(Wide x_um, Wide y_um) const noexcept {
        return x_um >= 0 && y_um >= 0 && x_um < width_um_ && y_um < height_um_;
    }
    // The cell of a position inside the field, as `team` sees it.
    int cell(Word x_um, Word y_um, int team) const noexcept {
        if (team == 0) return row(y_um) * columns_ + column(x_um);
        return cells_ - 1 - (row(height_um_ - y_um) * columns_ + column(width_um_ - x_um));
    }
    Word ground(int cell) const noexcept { return ground_[at(cell)]; }
    Word top(int cell) const noexcept { return top_[at(cell)]; }  // of ground and solids
    bool solid(int cell) const noexcept { return solid_[at(cell)] != 0; }
    Building building(int cell) const noexcept { return building_[at(cell)]; }
    Word coarse_top(int cell) const noexcept { return coarse_[at(coarse_of_[at(cell)])]; }
    const Gate* gate(int cell) const noexcept {
        return gate_[at(cell)] == 0 ? nullptr : &gates_[gate_[at(cell)] - 1u];
    }
    Word rough_pct(int cell) const noexcept { return rough_[at(cell)]; }
    Word zones(int cell) const noexcept { return zones_[at(cell)]; }
    const Card* card(int number) const noexcept {
        return number == 0 ? nullptr : &cards_[at(number - 1)];
    }
    int card_at(int cell) const noexcept { return card_[at(cell)]; }
    bool blocked(int raster, int cell) const noexcept {
        return blocked_[at(raster)][at(cell)] != 0;
    }
    Word height_above_all() const noexcept { return highest_; }

    Point spawn(int slot, int team, const std::string& season, bool deck, bool aerial) const;
    Point rune_face(int team) const { return turned(rune_face_, team); }
    Point radar(int team) const { return turned(radar_, team); }
    Point base_armour(int team) const { return turned(base_armour_, team); }
    Point base_centre(int team) const { return turned(base_centre_, team); }
    Word base_half_width_mm() const noexcept { return base_half_width_; }
    Point outpost(int team) const { return turned(outpost_, team); }
    Word outpost_radius_mm() const noexcept { return outpost_radius_; }
    Point turned(Point point, int team) const {
        if (team == 0) return point;
        return {width_um_ / 1000 - point.x_mm, height_um_ / 1000 - point.y_mm, point.z_mm};
    }

    const std::vector<std::uint8_t>& blocked_raster(int raster) const {
        return blocked_[at(raster)];
    }
    const std::vector<std::int16_t>& ground_raster() const { return ground_; }
    const std::vector<std::int16_t>& top_raster() const { return top_; }
    const std::vector<std::uint8_t>& gate_raster() const { return gate_; }
    const std::vector<std::uint8_t>& rough_raster() const { return rough_; }

  private:
    static std::size_t at(int i) noexcept { return static_cast<std::size_t>(i); }
    int column(Word x_um) const noexcept {
        const int i = x_um / kCellUm;
        return i < columns_ ? i : columns_ - 1;
    }
    int row(Word y_um) const noexcept {
        const int i = y_um / kCellUm;
        return i < rows_ ? i : rows_ - 1;
    }
    void read_ground(const Json& items, const std::string& season);
    void read_solids(const Json& file, const std::string& season);
    void read_labels(const Json& file, const std::string& season);
    void read_points(const Json& points);
    void finish();

    int columns_ = 0, rows_ = 0, cells_ = 0;
    Word width_um_ = 0, height_um_ = 0;
    std::vector<std::int16_t> ground_, top_, solid_;
    std::vector<std::uint8_t> gate_, rough_, card_;
    std::vector<Building> building_;
    std::vector<Word> zones_;
    std::vector<Gate> gates_;
    std::vector<Card> cards_;
    std::vector<std::uint16_t> coarse_of_;
    std::vector<std::int16_t> coarse_;
    Word highest_ = 0;
    std::vector<Word> radii_;
    std::vector<std::vector<std::uint8_t>> blocked_;
    std::array<Point, 8> spawns_{}, spawns_2027_{};
    std::vector<Point> deck_spawns_;
    Point rune_face_, radar_, base_armour_, base_centre_, outpost_;
    Word base_half_width_ = 0, outpost_radius_ = 0;
};

}  // namespace sysone::arena
