# What makes a memory error harder to exploit, should there be one. tests/tidy/test_hardening.py looks
# for all of it in the program; what it costs: bench/README.md.
include(CheckCXXCompilerFlag)

target_compile_definitions(semel_options INTERFACE _GLIBCXX_ASSERTIONS)
if(NOT SEMEL_SANITIZE)  # the sanitizers have checks of their own
  target_compile_options(semel_options INTERFACE -fstack-protector-strong -fstack-clash-protection)
  check_cxx_compiler_flag(-fcf-protection=full SEMEL_HAS_CET)  # x86 only
  if(SEMEL_HAS_CET)
    target_compile_options(semel_options INTERFACE -fcf-protection=full)
  endif()
  target_link_options(semel_options INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
endif()

# glibc's checked string and memory functions, which need an optimised build.
set(semel_optimised Release,RelWithDebInfo)
if(PROJECT_IS_TOP_LEVEL)
  set(semel_optimised ${semel_optimised},Debug)  # by the presets
endif()
function(semel_fortify target)
  if(NOT SEMEL_SANITIZE)
    target_compile_options(${target} PRIVATE
      $<$<CONFIG:${semel_optimised}>:-U_FORTIFY_SOURCE$<SEMICOLON>-D_FORTIFY_SOURCE=3>)
  endif()
endfunction()
