// A small program around the core, without Python: plays scripts and prints digests, so that
// compilers, optimisation levels and sanitizers can be compared. It reads commands from standard
// input, one a line:
//
//   R PATH                        rules
//   S SEED TICKS DECK RED BLUE    a new match; sides like 1:2711,3:2731 or -
//   X JSON                        starts again with a scenario
//   V 0|1                         recording
//   I 0|1                         check the invariants after every advance
//   A TEAM SLOT JSON              an action; a refusal is folded into the digest too
//   T N                           advance N ticks
//   O TEAM                        observe; the text is folded into the digest
//   D                             print ticks and digest of everything since S
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "arena/core/sim.h"
#include "arena/invariants.h"
#include "common/xxh64.h"

namespace {

using namespace sysone::arena;

std::vector<LineupEntry> read_side(const std::string& text) {
    std::vector<LineupEntry> side;
    std::istringstream items(text == "-" ? "" : text);
    for (std::string item; std::getline(items, item, ',');) {
        side.push_back({static_cast<Word>(std::stoi(item)),
                        static_cast<Word>(std::stoi(item.substr(item.find(':') + 1)))});
    }
    return side;
}

class Check {
  public:
    void run(const std::string& line) {
        std::istringstream words(line);
        char command = 0;
        words >> command;
        switch (command) {
            case 'R': {
                std::string path;
                words >> path;
                std::ifstream file(path);
                const std::string text{std::istreambuf_iterator<char>(file), {}};
                rules_ = std::make_shared<Rules>(text);
                break;
            }
            case 'S': {
                std::string red, blue;
                words >> seed_ >> ticks_ >> deck_ >> red >> blue;
                Lineups lineups;
                lineups.sides = {read_side(red), read_side(blue)};
                lineups.deck = deck_ != 0;
                sim_ = std::make_unique<Sim>(rules_, lineups, seed_, ticks_);
                digest_ = 0;
                break;
            }
            case 'X':
                if (const auto error = sim_->reset(seed_, rest(line, 2))) {
                    throw std::runtime_error(error->code + " " + error->path);
                }
                break;
            case 'V':
                sim_->set_recording(line.back() == '1');
                break;
            case 'I':
                checking_ = line.back() == '1';
                break;
            case 'A': {
                const auto error = sim_->act(line[2] - '0', rest(line, 6), line[4] - '0');
                if (error) fold(error->code + error->path);
                break;
            }
            case 'T': {
                int n = 0;
                words >> n;
                sim_->advance(n);
                const auto& digests = sim_->digests();
                fold({reinterpret_cast<const char*>(digests.data()), digests.size() * 8});
                if (checking_) check_invariants(*sim_);
                break;
            }
            case 'O': {
                std::string text;
                sim_->observe(line[2] - '0', true, 0, text);
                fold(text);
                break;
            }
            case 'D':
                std::printf("%d %016" PRIx64 "\n", sim_->state().tick, digest_);
                break;
            default:
                throw std::runtime_error("unknown command: " + line);
        }
    }

  private:
    static std::string_view rest(const std::string& line, std::size_t from) {
        return std::string_view(line).substr(from);
    }
    void fold(std::string_view text) {
        digest_ = sysone::xxh64({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()},
                                digest_);
    }

    std::shared_ptr<Rules> rules_;
    std::unique_ptr<Sim> sim_;
    std::uint64_t seed_ = 0;
    Word ticks_ = 0;
    int deck_ = 0;
    bool checking_ = false;
    std::uint64_t digest_ = 0;
};

}  // namespace

int main() {
    Check check;
    std::string line;
    try {
        while (std::getline(std::cin, line)) {
            if (!line.empty()) check.run(line);
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
