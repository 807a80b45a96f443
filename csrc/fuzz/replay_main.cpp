// Runs a fuzz target over files and folders of inputs, without a fuzzer: for regression tests and
// for compilers that have none.
#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "fuzz/fuzz.h"

namespace {

std::vector<std::filesystem::path> inputs(int count, char** names) {
    std::vector<std::filesystem::path> found;
    for (int i = 1; i < count; ++i) {
        if (std::filesystem::is_directory(names[i])) {
            for (const auto& entry : std::filesystem::directory_iterator(names[i])) {
                found.push_back(entry.path());
            }
        } else {
            found.emplace_back(names[i]);
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace

int main(int count, char** names) {
    try {
        const auto files = inputs(count, names);
        for (const auto& path : files) {
            std::ifstream file(path, std::ios::binary);
            const std::vector<char> content{std::istreambuf_iterator<char>(file), {}};
            if (!file) {
                std::fprintf(stderr, "cannot read %s\n", path.c_str());
                return 2;
            }
            // Said before, so that a crash is known by its input.
            std::fprintf(stderr, "%s\n", path.c_str());
            LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(content.data()),
                                   content.size());
        }
        std::printf("%zu\n", files.size());
        return files.empty() ? 2 : 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
