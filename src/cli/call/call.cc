#include <fmt/format.h>
#include <signal.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>

#include "base/text.h"
#include "cli/call/call_report.h"
#include "cli/commands.h"
#include "config/reading/values.h"
#include "semel/client.h"

// `semel call`: the client of the library on the command line.
namespace semel::cli {
namespace {

constexpr std::size_t kKeyCharactersShown = 8;  // with -v; the last line has the whole key
constexpr int kTriesMax = 1000;

struct CallOptions {
  std::string method;
  std::string url;
  std::vector<std::string> headers;
  std::string data;
  std::string key;
  std::string key_format = "v4";
  std::string name;
  bool no_key = false;
  bool done = false;
  bool forget = false;
  int tries = RetryRules{}.tries_max;
  std::string deadline = "2m";
  std::string timeout = "30s";
  std::string retry_after_max = "60s";
  bool as_json = false;
  bool verbose = false;
  bool quiet = false;
  ClientOptions client;
};

struct CallUsage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::chrono::milliseconds call_duration(const char* option, const std::string& text) {
  const auto parsed = config::reading::parse_duration(text);
  if (!parsed) throw CallUsage(fmt::format("{}: '{}' {}", option, text, parsed.error()));
  if (*parsed <= Duration(0)) throw CallUsage(fmt::format("{} must be longer than 0", option));
  return *parsed;
}

// Returns the text itself, or what the file named after '@' has; "@-" is standard input.
std::string text_or_file(const char* option, const std::string& given) {
  if (!given.starts_with('@')) return given;
  std::ostringstream text;
  if (given == "@-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  std::ifstream in(given.substr(1), std::ios::binary);
  if (in && in.peek() != std::ifstream::traits_type::eof()) text << in.rdbuf();
  if (in.bad() || !in.is_open()) {
    throw CallUsage(fmt::format("{}: {} cannot be read", option, given.substr(1)));
  }
  return text.str();
}

void add_call_header(std::vector<Header>& headers, std::string_view line) {
  const std::size_t colon = line.find(':');
  // The line is not repeated: it may be a secret.
  if (colon == std::string_view::npos) throw CallUsage("--header: write 'Name: value'");
  headers.push_back({std::string(base::trim(line.substr(0, colon))),
                     std::string(base::trim(line.substr(colon + 1)))});
}

std::vector<Header> call_headers(const std::vector<std::string>& given) {
  std::vector<Header> headers;
  for (const std::string& one : given) {
    std::istringstream lines(text_or_file("--header", one));
    for (std::string line; std::getline(lines, line);) {
      const std::string_view trimmed = base::trim_line(line);
      if (!trimmed.empty()) add_call_header(headers, trimmed);
    }
  }
  return headers;
}

Key call_key(const CallOptions& options) {
  const auto format = options.key_format == "v7" ? Key::Format::v7 : Key::Format::v4;
  const int ways =
      (options.key.empty() ? 0 : 1) + (options.name.empty() ? 0 : 1) + (options.no_key ? 1 : 0);
  if (ways > 1) throw CallUsage("give one of --key, --name and --no-key");
  if (options.name.empty() != options.client.keys_file.empty()) {
    throw CallUsage("--key-file and --name go together");
  }
  if (options.forget && options.name.empty()) throw CallUsage("--forget needs --name");
  if (options.no_key) return Key::none();
  if (!options.key.empty()) return Key::given(options.key);
  if (!options.name.empty()) return Key::named(options.name, format);
  return Key::fresh(format);
}

// The signal handler's way to the call.
const Stop* signalled = nullptr;

void stop_at_signals(const Stop& stop) {
  signalled = &stop;
  struct sigaction action{};
  action.sa_handler = [](int) { signalled->request(); };
  action.sa_flags = SA_RESETHAND;  // the second one ends the process
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

bool is_over_for_good(const Sent& sent) {
  const int status = sent.answer.status;
  return call_exit_code(sent) == kExitOk && status != 202;
}

int forget_name(const CallOptions& options) {
  if (options.name.empty()) throw CallUsage("--done needs --key-file and --name");
  ClientOptions client = options.client;
  client.base_url = "http://localhost";  // nothing is sent
  if (Client(client).forget(options.name)) return kExitOk;
  return complain(fmt::format("{} has no name '{}'", client.keys_file, options.name),
                  kExitNotFound);
}

int make_call(CallOptions options) {
  if (options.done) return forget_name(options);
  if (options.url.empty()) throw CallUsage("give a method and a URL, as in: semel call POST URL");
  const Key key = call_key(options);
  ClientOptions& client = options.client;
  client.base_url = options.url;
  client.headers = call_headers(options.headers);
  client.retry.tries_max = options.tries;
  client.retry.deadline = call_duration("--deadline", options.deadline);
  client.retry.try_timeout = call_duration("--timeout", options.timeout);
  client.retry.retry_after_max = call_duration("--retry-after-max", options.retry_after_max);
  if (options.verbose) {
    client.on_try = [](const TryReport& tried) {
      print_try_line(tried, tried.key.substr(0, kKeyCharactersShown));
    };
  }
  const Stop stop;
  stop_at_signals(stop);
  Client caller(client);
  const Sent sent =
      caller.send({options.method, "", text_or_file("--data", options.data), {}}, key, &stop);
  options.as_json ? print_call_json(sent) : print_call_body(sent);
  std::fflush(stdout);
  if (!options.quiet && !options.as_json) print_call_line(sent);
  if (options.forget && is_over_for_good(sent)) caller.forget(options.name);
  return call_exit_code(sent);
}

void add_call_keys(CLI::App* command, CallOptions& options) {
  command->add_option("--key", options.key, "The key to send; default: a random UUID");
  command
      ->add_option("--key-file", options.client.keys_file,
                   "File that remembers the keys of names; made if absent")
      ->type_name("FILE");
  command->add_option("--name", options.name,
                      "Use the key of this name; made and synced before anything is sent");
  command->add_flag("--forget", options.forget, "Remove the name after an answer of 2xx but 202");
  command->add_flag("--done", options.done, "Remove the name and send nothing");
  command->add_flag("--no-key", options.no_key,
                    "Send no key. POST and PATCH are then tried once only");
  command->add_option("--key-format", options.key_format, "UUID v4, or v7, which sorts by time")
      ->check(CLI::IsMember({"v4", "v7"}));
  command->add_option("--key-header", options.client.key_header,
                      "The header that carries the key; default Idempotency-Key");
  command->add_flag("--bare", options.client.bare_key, "Send the key without quotes");
}

void add_call_rules(CLI::App* command, CallOptions& options) {
  command->add_flag("--follow", options.client.follow,
                    "After 202 with Location: ask there until the operation has ended");
  command->add_option("--tries", options.tries, "Tries at most; default 8")
      ->check(CLI::Range(1, kTriesMax));
  command->add_option("--deadline", options.deadline, "Time for all tries; default 2m");
  command->add_option("--timeout", options.timeout, "Time for one try; default 30s");
  command->add_option("--retry-after-max", options.retry_after_max,
                      "End the call if the server asks for a longer pause; default 60s");
  command->add_option("--cacert", options.client.tls.ca_file, "Certificates to trust (PEM)")
      ->type_name("FILE");
  command->add_option("--cert", options.client.tls.certificate_file, "Certificate of ours (PEM)")
      ->type_name("FILE");
  command->add_option("--cert-key", options.client.tls.key_file, "Its private key (PEM)")
      ->type_name("FILE");
}

}  // namespace

void add_call(CLI::App& app, Run& run) {
  const auto options = std::make_shared<CallOptions>();
  CLI::App* command = app.add_subcommand(
      "call", "Send one request; retry it with the same key until there is an answer");
  command->group(kGroupCall);
  command->add_option("METHOD", options->method, "POST, GET, …");
  command->add_option("URL", options->url, "http:// or https://");
  command
      ->add_option("-H,--header", options->headers,
                   "A header: 'Name: value', or @FILE with one per line")
      ->type_size(1)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("-d,--data", options->data,
                      "The body; @FILE for a file's content, @- for standard input");
  add_call_keys(command, *options);
  add_call_rules(command, *options);
  command->add_flag("--json", options->as_json, "Print one JSON object about the call");
  command->add_flag("-v,--verbose", options->verbose, "Print one line per try on standard error");
  command->add_flag("-q,--quiet", options->quiet, "Print the answer's body only");
  command->footer(kCallExitCodes);
  command->callback([&run, options] {
    run = [options] {
      try {
        return make_call(*options);
      } catch (const CallUsage& error) {
        return complain(error.what(), kExitUsage);
      } catch (const Client::Error& error) {
        return complain(error.what(), kExitUsage);
      }
    };
  });
}

}  // namespace semel::cli
