#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <system_error>
#include <thread>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/once/command_run.h"
#include "config/reading/values.h"
#include "library/asked.h"
#include "library/face.h"
#include "library/store_url.h"

// `semel once`: runs a command once per key, over the library.
namespace semel::cli {
namespace {

constexpr int kExitOnceRefused = 65;
constexpr int kExitOnceUnknown = 70;
constexpr int kExitOnceLater = 75;
constexpr int kExitOnceNotStarted = 127;
constexpr const char* kOnceExitCodes =
    "Exit codes: the command's own, now or replayed. 65 refused: the key was used for another\n"
    "command, or too long ago, or there is nothing to decide. 70 unknown: it was begun, and may\n"
    "have happened. 75 not now: it is running, the store cannot be used, or the command said so\n"
    "(--retry-on). 127 it could not be started. 2 bad command line. 3 --done, --release: there is\n"
    "no run with this key.";
// Fields of the answer that is kept. Its body is the standard output followed by the errors.
constexpr std::string_view kExitField = "Semel-Exit";
constexpr std::string_view kOutputField = "Semel-Output-Bytes";
constexpr std::string_view kCutField = "Semel-Output-Cut";
constexpr const char* kNoRun = "there is no run with this key";
constexpr auto kTryToOpenEvery = std::chrono::milliseconds(50);

struct OnceOptions {
  std::string store;
  std::string operation;
  std::string tenant;
  std::string key;
  std::string fingerprint;
  bool has_fingerprint = false;
  std::string wait = "0";
  std::string ttl = "24h";
  std::string lease = "30s";
  std::string max_execution = "24h";
  std::string unknown = "hold";
  std::string retry_on;
  bool release = false;
  bool done = false;
  std::string output_max = "1MiB";
  bool quiet = false;
  std::vector<std::string> command;
};

struct OnceUsage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

Duration once_duration(const char* option, const std::string& text) {
  const auto parsed = config::reading::parse_duration(text);
  if (!parsed) throw OnceUsage(fmt::format("{}: '{}' {}", option, text, parsed.error()));
  return *parsed;
}

v1::Operation once_operation(const OnceOptions& options) {
  v1::Operation operation;
  operation.name = options.operation;
  operation.wait = once_duration("--wait", options.wait);
  operation.ttl = once_duration("--ttl", options.ttl);
  operation.lease = once_duration("--lease", options.lease);
  operation.max_execution = once_duration("--max-execution", options.max_execution);
  if (options.unknown == "retry") operation.unknown = v1::Operation::Unknown::retry;
  return operation;
}

v1::Call once_call(const OnceOptions& options) {
  v1::Call call;
  call.key = options.key;
  call.tenant = options.tenant;
  call.fingerprint = options.fingerprint;
  if (options.has_fingerprint) return call;
  for (const std::string& word : options.command) call.fingerprint += v1::parts({word});
  return call;
}

// An embedded store belongs to one process. Waits for its turn as long as a duplicate would.
v1::Engine open_in_turn(const OnceOptions& options, Duration wait) {
  const auto give_up = std::chrono::steady_clock::now() + wait;
  for (;;) {
    try {
      return v1::open(options.store);
    } catch (const v1::StoreInUse&) {
      if (std::chrono::steady_clock::now() >= give_up) throw;
    }
    std::this_thread::sleep_for(kTryToOpenEvery);
  }
}

Answer once_answer(const CommandRun& run) {
  Answer answer{200, {}, run.out.bytes + run.err.bytes};
  answer.headers = {{std::string(kExitField), std::to_string(run.exit_code)},
                    {std::string(kOutputField), std::to_string(run.out.bytes.size())}};
  const std::uint64_t cut = run.out.dropped + run.err.dropped;
  if (cut > 0) answer.headers.push_back({std::string(kCutField), std::to_string(cut)});
  return answer;
}

std::uint64_t field_of(const Answer& answer, std::string_view name) {
  for (const Header& header : answer.headers) {
    if (header.name == name) return config::reading::parse_number(header.value).value_or(0);
  }
  return 0;
}

int replay_output(const OnceOptions& options, const v1::Begun& begun) {
  const Answer& answer = begun.answer;
  const std::size_t split =
      std::min<std::size_t>(field_of(answer, kOutputField), answer.body.size());
  std::fwrite(answer.body.data(), 1, split, stdout);
  std::fflush(stdout);
  std::fwrite(answer.body.data() + split, 1, answer.body.size() - split, stderr);
  if (!options.quiet) {
    std::fprintf(stderr, "semel: replayed: the command was run before, with this key\n");
    if (const std::uint64_t cut = field_of(answer, kCutField); cut > 0) {
      std::fprintf(stderr, "semel: %llu bytes of its output were not kept\n",
                   static_cast<unsigned long long>(cut));
    }
    if (!begun.why.empty()) std::fprintf(stderr, "semel: %s\n", begun.why.c_str());
  }
  return static_cast<int>(field_of(answer, kExitField));
}

int refuse_once(const v1::Begun& begun) {
  switch (begun.verdict) {
    case v1::Verdict::mismatch:
      return complain("this key was used for another command; use a new key for a new one",
                      kExitOnceRefused);
    case v1::Verdict::expired:
      return complain(begun.why, kExitOnceRefused);
    case v1::Verdict::unknown:
      return complain(begun.why + ", with --done or --release", kExitOnceUnknown);
    default:
      return complain(begun.why, kExitOnceLater);
  }
}

std::vector<int> retry_codes(const OnceOptions& options) {
  std::vector<int> codes;
  std::string_view rest = options.retry_on;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const auto code = config::reading::parse_number(rest.substr(0, end));
    if (!code || *code < 1 || *code > 255) {
      throw OnceUsage("--retry-on: write exit codes from 1 to 255, as in 75,111");
    }
    codes.push_back(static_cast<int>(*code));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return codes;
}

// The outcome did not count, or is not known.
int end_badly(const v1::Ended& ended) {
  return complain(ended.why, kExitOnceUnknown);
}

// Nothing has happened: frees the key.
int end_released(v1::Engine& engine, v1::Execution execution, const std::string& why,
                 int exit_code) {
  const v1::Ended ended = engine.release(std::move(execution), why);
  if (ended.verdict == v1::Verdict::released) return complain(why + ": the key is free", exit_code);
  return complain(why + "; the key is not free: " + ended.why, kExitOnceUnknown);
}

int execute_once(v1::Engine& engine, const OnceOptions& options, v1::Execution execution,
                 const std::vector<int>& retry_on, CommandPipes& pipes, std::size_t kept_max) {
  const CommandRun run = run_command(options.command,
                                     {"SEMEL_RECORD=" + execution.record.hex(),
                                      "SEMEL_ATTEMPT=" + std::to_string(execution.attempt)},
                                     pipes, kept_max);
  if (run.not_started != 0) {
    const std::string why =
        fmt::format("{}: {}", options.command.front(), std::strerror(run.not_started));
    return end_released(engine, std::move(execution), why, kExitOnceNotStarted);
  }
  if (run.signal != 0) {
    return end_badly(engine.leave(std::move(execution),
                                  fmt::format("the command was killed by signal {}", run.signal)));
  }
  if (run.interrupted && run.exit_code != 0) {
    return end_badly(
        engine.leave(std::move(execution), "the command was interrupted, and has failed"));
  }
  if (std::ranges::find(retry_on, run.exit_code) != retry_on.end()) {
    return end_released(engine, std::move(execution),
                        fmt::format("the command exited with {}", run.exit_code), kExitOnceLater);
  }
  const v1::Ended ended = engine.finish(std::move(execution), once_answer(run));
  return ended.verdict == v1::Verdict::executed ? run.exit_code : end_badly(ended);
}

// Says what became of a run whose outcome is unknown.
int resolve_once(v1::Engine& engine, const OnceOptions& options, const v1::Operation& operation,
                 const v1::Call& call) {
  const auto entry = engine.find(operation, call);
  if (!entry) return complain(kNoRun, kExitNotFound);
  std::optional<Answer> answer;
  if (options.done) answer = once_answer({});
  const bool was_there = engine.resolve(
      entry->record, std::move(answer), "semel once",
      options.done ? "somebody said that it is done" : "somebody said that it is not done");
  return was_there ? kExitOk : complain(kNoRun, kExitNotFound);
}

// Throws OnceUsage for what the library would refuse.
void check_arguments(const OnceOptions& options, const v1::Operation& operation,
                     const v1::Call& call) {
  if (const auto named = library::parse_store_url(options.store); !named) {
    throw OnceUsage(named.error());
  }
  try {
    library::make_asked("default", false, operation, call);
  } catch (const v1::Error& error) {
    throw OnceUsage(error.what());
  }
}

// Does what the checked options ask for.
int do_once(const OnceOptions& options, const v1::Operation& operation, const v1::Call& call,
            const std::vector<int>& retry_on, std::size_t kept_max) {
  try {
    if (options.done || options.release) {
      v1::Engine engine = open_in_turn(options, operation.wait);
      return resolve_once(engine, options, operation, call);
    }
    CommandPipes pipes;
    v1::Engine engine = open_in_turn(options, operation.wait);
    v1::Begun begun = engine.begin(operation, call);
    if (begun.execution) {
      return execute_once(engine, options, *std::move(begun.execution), retry_on, pipes, kept_max);
    }
    if (begun.verdict == v1::Verdict::replayed) return replay_output(options, begun);
    return refuse_once(begun);
  } catch (const v1::StoreInUse& error) {
    return complain(error.what(), kExitOnceLater);
  } catch (const v1::Unavailable& error) {
    return complain(error.what(), kExitOnceLater);
  } catch (const v1::Error& error) {  // of resolve(): there is nothing to decide
    return complain(error.what(), kExitOnceRefused);
  } catch (const std::system_error& error) {
    return complain(error.what(), kExitOnceNotStarted);
  }
}

int run_once(const OnceOptions& options) {
  const bool resolves = options.done || options.release;
  if (options.done && options.release) throw OnceUsage("give one of --done and --release");
  if (options.command.empty() != resolves) {
    throw OnceUsage(resolves ? "--done and --release take no command"
                             : "give a command, as in: semel once … -- ./backup.sh");
  }
  const std::vector<int> retry_on = retry_codes(options);
  const v1::Operation operation = once_operation(options);
  const v1::Call call = once_call(options);
  const auto kept_max = config::reading::parse_size(options.output_max);
  if (!kept_max) {
    throw OnceUsage(fmt::format("--output-max: '{}' {}", options.output_max, kept_max.error()));
  }
  check_arguments(options, operation, call);
  return do_once(options, operation, call, retry_on, static_cast<std::size_t>(*kept_max));
}

void add_once_rules(CLI::App* command, OnceOptions& options) {
  command->add_option("--wait", options.wait,
                      "How long to wait for a run with this key that has begun; default 0");
  command->add_option("--ttl", options.ttl, "How long the result is kept; default 24h");
  command->add_option("--lease", options.lease,
                      "On a shared store: how soon others notice that this machine has died; "
                      "default 30s");
  command->add_option("--max-execution", options.max_execution,
                      "How long the command may run before it counts as lost; default 24h");
  command
      ->add_option("--unknown", options.unknown,
                   "After a run that ended without a known outcome: hold (refuse) or retry")
      ->check(CLI::IsMember({"hold", "retry"}));
  command
      ->add_option("--retry-on", options.retry_on,
                   "Exit codes by which the command says that nothing has happened; as in 75,111")
      ->type_name("CODES");
  command->add_option("--output-max", options.output_max,
                      "How much is kept of the output, and of the errors; default 1MiB");
}

}  // namespace

void add_once(CLI::App& app, Run& run) {
  const auto options = std::make_shared<OnceOptions>();
  CLI::App* command =
      app.add_subcommand("once", "Run a command once per key; replay its output and exit code");
  command->group(kGroupRun);
  command
      ->add_option(
          "--store", options->store,
          "Where results are kept: embedded:PATH, postgres://…, redis://…, file:semel.yaml")
      ->required()
      ->type_name("URL");
  command->add_option("--operation", options->operation, "A name for the work")->required();
  command->add_option("--key", options->key, "The key of this run, such as the date")->required();
  command->add_option("--tenant", options->tenant, "Whose key it is; default: nobody's");
  CLI::Option* fingerprint =
      command->add_option("--fingerprint", options->fingerprint,
                          "Text that must be equal in a retry; default: the command line");
  add_once_rules(command, *options);
  command->add_flag("-q,--quiet", options->quiet, "Say nothing about a replay");
  command->add_flag("--done", options->done,
                    "Run nothing: say that a run whose outcome is unknown was done");
  command->add_flag("--release", options->release,
                    "Run nothing: say that it was not, so that the key is free");
  command->add_option("COMMAND", options->command, "The command and its arguments, after --");
  command->footer(kOnceExitCodes);
  command->callback([&run, options, fingerprint] {
    options->has_fingerprint = fingerprint->count() > 0;
    run = [options] {
      try {
        return run_once(*options);
      } catch (const OnceUsage& error) {
        return complain(error.what(), kExitUsage);
      }
    };
  });
}

}  // namespace semel::cli
