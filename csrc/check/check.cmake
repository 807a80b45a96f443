# Programs for ThreadSanitizer, without Python: one that must be clean, and one that must not.
foreach(name threads race)
  add_executable(check_${name} csrc/check/${name}_main.cpp)
  target_link_libraries(check_${name} PRIVATE arena_fast trex sysone_warnings)
endforeach()
