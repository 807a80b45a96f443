# One program a target. With clang it is libFuzzer's; any other compiler makes the one that replays
# given inputs. Sources: csrc/fuzz/fuzz_<target>.cpp.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(sysone_flags INTERFACE -fsanitize=fuzzer-no-link)
else()
  add_library(fuzz_replay OBJECT csrc/fuzz/replay_main.cpp)
  target_include_directories(fuzz_replay PRIVATE csrc)
  target_link_libraries(fuzz_replay PRIVATE sysone_flags sysone_warnings)
endif()

add_custom_target(fuzz)
function(sysone_fuzz_target name)
  add_executable(fuzz_${name} csrc/fuzz/fuzz_${name}.cpp)
  target_include_directories(fuzz_${name} PRIVATE csrc)
  target_link_libraries(fuzz_${name} PRIVATE ${ARGN} sysone_flags sysone_warnings)
  add_dependencies(fuzz fuzz_${name})
  if(TARGET fuzz_replay)
    target_link_libraries(fuzz_${name} PRIVATE fuzz_replay)
  else()
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  endif()
endfunction()

sysone_fuzz_target(base64 drive)
