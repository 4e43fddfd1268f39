// Loaded before everything else (LD_PRELOAD), puts a process on a machine of its own: its wall
// clock is apart from the real one, and its disk can be made to hang. What holds is in the file
// SEMEL_ODD_MACHINE, which a test may change at any time:
//
//   i64 nanoseconds that the wall clock is ahead    i64 1: nothing is synced to disk
//
// Host names that are in the file SEMEL_ODD_HOSTS, if there is one, have the addresses that it
// gives them: lines of a name and IPv4 addresses. A line with a name alone: it does not exist.
//
// The monotonic clock stays as it is, as it does when somebody sets a clock. Nothing here but
// the look-up of names allocates: jemalloc asks for the time before it can.
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

struct Machine {
  std::int64_t clock_ahead;
  std::int64_t disk_hangs;
};
const volatile Machine* machine = nullptr;

__attribute__((constructor)) void open_machine() {
  const char* path = std::getenv("SEMEL_ODD_MACHINE");
  const int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void* mapped = mmap(nullptr, sizeof(Machine), PROT_READ, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) machine = static_cast<const volatile Machine*>(mapped);
  close(file);
}

void wait_for_disk() {
  const timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000};
  while (machine && machine->disk_hangs) nanosleep(&pause, nullptr);
}

using GetAddrInfo = int (*)(const char*, const char*, const addrinfo*, addrinfo**);

// Returns the addresses that the test has given to the name; nullopt: it has not named it.
std::optional<std::vector<std::string>> addresses_of(const std::string& name) {
  const char* path = std::getenv("SEMEL_ODD_HOSTS");
  if (!path) return std::nullopt;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word != name) continue;
    std::vector<std::string> addresses;
    while (words >> word) addresses.push_back(word);
    return addresses;
  }
  return std::nullopt;
}

}  // namespace

extern "C" {

int getaddrinfo(const char* __restrict name, const char* __restrict service,
                const addrinfo* __restrict hints, addrinfo** __restrict found) {
  const auto real = reinterpret_cast<GetAddrInfo>(dlsym(RTLD_NEXT, "getaddrinfo"));
  const auto addresses = name ? addresses_of(name) : std::nullopt;
  if (!addresses) return real(name, service, hints, found);
  addrinfo** end = found;
  *end = nullptr;
  for (const std::string& address : *addresses) {
    if (const int failed = real(address.c_str(), service, hints, end)) return failed;
    while (*end) end = &(*end)->ai_next;
  }
  return *found ? 0 : EAI_NONAME;
}

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const long failed = syscall(SYS_clock_gettime, clock, now);
  if (failed) return static_cast<int>(failed);
  const bool is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  if (!is_wall || !machine) return 0;
  const std::int64_t total = now->tv_sec * kSecond + now->tv_nsec + machine->clock_ahead;
  now->tv_sec = total / kSecond;
  now->tv_nsec = total % kSecond;
  return 0;
}

int gettimeofday(timeval* __restrict now, void* __restrict) noexcept {
  timespec exact{};
  if (clock_gettime(CLOCK_REALTIME, &exact)) return -1;
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* into) noexcept {
  timespec exact{};
  if (clock_gettime(CLOCK_REALTIME, &exact)) return -1;
  if (into) *into = exact.tv_sec;
  return exact.tv_sec;
}

int fsync(int file) {
  wait_for_disk();
  return static_cast<int>(syscall(SYS_fsync, file));
}

int fdatasync(int file) {
  wait_for_disk();
  return static_cast<int>(syscall(SYS_fdatasync, file));
}
}
