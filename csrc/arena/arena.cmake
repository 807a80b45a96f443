# The match simulator: a library without Python, and the thin extension module over it.
add_library(arena STATIC csrc/common/xxh64.cpp)
file(GLOB arena_core CONFIGURE_DEPENDS csrc/arena/core/*.cpp)
target_sources(arena PRIVATE ${arena_core})
target_include_directories(arena PUBLIC csrc)
target_link_libraries(arena PUBLIC sysone_flags PRIVATE sysone_warnings)

# What steps many matches at once over arrays: no part of the engine, and of no match's digest.
add_library(arena_fast STATIC
  csrc/arena/fast/batch.cpp
  csrc/arena/fast/bots.cpp
  csrc/arena/fast/navigator.cpp
  csrc/arena/fast/spaces.cpp)
target_link_libraries(arena_fast PUBLIC arena Threads::Threads PRIVATE sysone_warnings)

# The engine's fingerprint: any change of the core's sources makes another engine.
file(GLOB arena_sources RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS
  csrc/arena/core/* csrc/common/philox.h csrc/common/xxh64.*)
list(SORT arena_sources)
set(arena_hashes "")
foreach(source ${arena_sources})
  file(SHA256 ${CMAKE_SOURCE_DIR}/${source} hash)
  string(APPEND arena_hashes "${source} ${hash}\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${source})
endforeach()
string(SHA256 arena_sha256 "${arena_hashes}")

if(SYSONE_PYTHON)
  pybind11_add_module(_arena MODULE
    csrc/arena/bindings.cpp
    csrc/arena/bindings_batch.cpp
    csrc/arena/bindings_match.cpp
    csrc/arena/bindings_numbers.cpp
    csrc/arena/sandbox/seccomp.cpp)
  set_source_files_properties(csrc/arena/bindings.cpp PROPERTIES COMPILE_DEFINITIONS
    "ARENA_VERSION=\"1.0.1\";ARENA_SOURCES_SHA256=\"${arena_sha256}\"")
  target_link_libraries(_arena PRIVATE arena_fast sysone_warnings)
  install(TARGETS _arena DESTINATION sysone_core)
endif()
