#include "sim/replay.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <csignal>

#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#include <sanitizer/common_interface_defs.h>
#endif

namespace semel::sim {
namespace {

// Written beforehand: whoever is dying formats nothing.
std::array<char, 256> last_words;
std::size_t last_words_bytes = 0;

void say_last_words() {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, last_words.data(), last_words_bytes);
}

void on_signal(int signal) {
  say_last_words();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

std::string replay_command(std::uint64_t seed, Plant plant) {
  std::string command = fmt::format("build/tests/sim_tests --seed={}", seed);
  for (const auto& [known, name] : kPlants) {
    if (known == plant) command += fmt::format(" --plant={}", name);
  }
  return command;
}

void announce(std::uint64_t seed) {
  static const bool kListening = [] {
    std::signal(SIGABRT, on_signal);
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    __sanitizer_set_death_callback(say_last_words);
#else
    std::signal(SIGSEGV, on_signal);
#endif
    return true;
  }();
  const std::string words = fmt::format("seed {}: {}\n", seed, replay_command(seed));
  if (kListening) last_words_bytes = words.copy(last_words.data(), last_words.size());
}

}  // namespace semel::sim
