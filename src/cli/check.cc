#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <expected>
#include <fstream>
#include <memory>
#include <sstream>

#include "base/text.h"
#include "check/report/report.h"
#include "cli/commands.h"
#include "config/reading/values.h"

// Reads the command line of `semel check`, holds the run to the safety rules, and writes the
// reports. The judging is in check/.
namespace semel::cli {
namespace {

std::atomic<bool> check_interrupted = false;

struct CheckFlags {
  check::Options options;
  std::string url;
  std::string body;
  std::vector<std::string> headers;
  std::string content_type = "application/json";
  std::map<std::string, std::string> extras;  // by option; "": not given
  std::string ttl;
  std::string timeout = "5m";
  std::string request_timeout = "15s";
  std::string patience = "5s";
  int rate = -1;  // not given
  bool insecure = false;
  bool yes = false;
  std::string confirmed_host;
  bool dry_run = false;
  bool verbose = false;
  std::map<std::string, std::string> files;  // reports, by option
};

constexpr int kRateElsewhere = 20;  // requests per second to other machines
constexpr std::pair<const char*, const char*> kUnlocking[] = {
    {"--other-body", "Another payload that is accepted; by default the body with another number"},
    {"--slow-body", "A payload that takes a second or more"},
    {"--error-body", "A payload that is refused for a reason of its own (a declined card)"},
    {"--retryable-body", "A payload that gets 503 or 429 first, and succeeds when tried again"},
    {"--broken-body", "A payload that gets 500"},
    {"--large-body", "A payload whose answer is large"},
    {"--other-path", "Another path that takes the same payload"},
    {"--other-query", "A query that changes the meaning, like dry_run=1"},
    {"--other-method", "Another method, like PUT"},
    {"--other-auth", "The Authorization of another caller"},
    {"--bad-auth", "An Authorization that is refused"},
    {"--delete-path", "What DELETE removes, like /charges/{{witness}}"},
    {"--restart-cmd", "A command that restarts the service, and returns when it is up"},
    {"--policy", "The URL of the published rules"},
};

// Returns the text, or the content of the file that "@FILE" names.
std::expected<std::string, std::string> argument_text(const std::string& text) {
  if (!text.starts_with('@')) return text;
  std::ifstream file(text.substr(1), std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  if (!file) return std::unexpected("cannot read " + text.substr(1));
  return content.str();
}

std::string add_headers(CheckFlags& flags) {
  for (const std::string& header : flags.headers) {
    const auto text = argument_text(header);
    if (!text) return "-H: " + text.error();
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
      const std::string_view trimmed = base::trim_line(line);
      const std::size_t colon = trimmed.find(':');
      if (trimmed.empty()) continue;
      if (colon == std::string_view::npos || colon == 0) {
        return "-H: write 'Name: value', or @FILE with one per line";
      }
      flags.options.headers.push_back({std::string(trimmed.substr(0, colon)),
                                       std::string(base::trim(trimmed.substr(colon + 1)))});
    }
  }
  const auto is_type = [](const check::Field& field) {
    return base::lower_case(field.name) == "content-type";
  };
  if (!flags.options.body.empty() && std::ranges::none_of(flags.options.headers, is_type)) {
    flags.options.headers.push_back({"Content-Type", flags.content_type});
  }
  return {};
}

std::string add_times(CheckFlags& flags) {
  const auto read = [](const char* name, const std::string& text, auto& into) -> std::string {
    const auto parsed = config::reading::parse_duration(text);
    if (!parsed) return fmt::format("{}: '{}' {}", name, text, parsed.error());
    if (*parsed <= Duration(0)) return fmt::format("{} must be longer than 0", name);
    into = check::Milliseconds(parsed->count());
    return {};
  };
  check::Options& options = flags.options;
  std::string trouble = read("--timeout", flags.timeout, options.timeout);
  if (trouble.empty())
    trouble = read("--request-timeout", flags.request_timeout, options.request_timeout);
  if (trouble.empty()) trouble = read("--patience", flags.patience, options.patience);
  if (trouble.empty() && !flags.ttl.empty()) trouble = read("--ttl", flags.ttl, options.ttl);
  return trouble;
}

std::string add_extras(CheckFlags& flags) {
  for (const auto& [name, value] : flags.extras) {
    if (value.empty()) continue;
    const auto text = argument_text(value);
    if (!text) return name + ": " + text.error();
    if (name.ends_with("-path") && (!text->starts_with('/') || text->contains(' '))) {
      return name + ": must begin with / and have no spaces";
    }
    const bool is_body = name.ends_with("-body");
    flags.options.extras[name] = is_body ? *text : std::string(base::without_line_end(*text));
  }
  return {};
}

std::string check_only(const check::Options& options) {
  for (const std::string& one : options.only) {
    check::Options single;
    single.only = {one};
    const auto all = check::all_checks();
    if (std::ranges::none_of(all, [&](const auto& each) { return is_chosen(each, single); })) {
      return fmt::format("--only: there is no check or family '{}'; --dry-run lists them", one);
    }
  }
  return {};
}

// Makes the options from the command line. Returns what is wrong with it; "": nothing.
std::string settle_options(CheckFlags& flags) {
  const auto target = check::parse_target(flags.url);
  if (!target) return fmt::format("'{}' {}", flags.url, target.error());
  flags.options.target = *target;
  const auto is_letter = [](char c) { return c >= 'A' && c <= 'Z'; };
  if (flags.options.method.empty() || !std::ranges::all_of(flags.options.method, is_letter)) {
    return "--method: write it in capital letters, like POST";
  }
  const auto body = argument_text(flags.body);
  if (!body) return "--body: " + body.error();
  flags.options.body = *body;
  flags.options.tls.verify = !flags.insecure;
  for (const auto settle : {add_headers, add_times, add_extras}) {
    if (std::string trouble = settle(flags); !trouble.empty()) return trouble;
  }
  return check_only(flags.options);
}

// Returns why the run must not begin; "": it may. The checks make real effects.
std::string unsafe_because(CheckFlags& flags) {
  const check::Target& target = flags.options.target;
  const bool here = is_loopback(target);
  flags.options.rate = flags.rate >= 0 ? flags.rate : here ? 0 : kRateElsewhere;
  if (here) return {};
  if (!flags.yes) {
    const check::Estimate sum = estimate(flags.options);
    return fmt::format(
        "{} is not this machine. About {} requests with {} effects would be sent to it; "
        "see them with --dry-run, and add --yes if that is all right",
        target.host, sum.requests, sum.effects);
  }
  if (check::looks_like_production(target.host) && flags.confirmed_host != target.host) {
    return fmt::format(
        "{0} may be a production system: its name has no test, staging, sandbox, dev "
        "… in it. If these effects may be made there, add --confirm {0}",
        target.host);
  }
  return {};
}

bool write_report(const std::string& file, const std::string& text) {
  if (file == "-") return std::fputs(text.c_str(), stdout) >= 0;
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) std::fprintf(stderr, "semel: cannot write %s\n", file.c_str());
  return static_cast<bool>(out);
}

bool write_reports(const CheckFlags& flags, const check::Report& report) {
  const std::pair<const char*, std::string (*)(const check::Report&, const check::Options&)>
      forms[] = {{"--json", check::json_report},
                 {"--junit", [](const auto& one, const auto&) { return junit_report(one); }},
                 {"--html", check::html_report},
                 {"--markdown", [](const auto& one, const auto&) { return markdown_report(one); }}};
  bool written = true;
  bool on_stdout = false;
  for (const auto& [name, form] : forms) {
    const std::string& file = flags.files.at(name);
    if (file.empty()) continue;
    on_stdout = on_stdout || file == "-";
    written = write_report(file, form(report, flags.options)) && written;
  }
  if (!on_stdout) {
    const check::TextStyle style{.colour = isatty(STDOUT_FILENO) == 1, .all = flags.verbose};
    std::fputs(text_report(report, style).c_str(), stdout);
  }
  return written;
}

void clean_up(const check::Options& options, const check::Report& report) {
  if (options.cleanup_command.empty()) return;
  for (const std::string& one : report.witnesses) {
    const auto done = check::run_command(options.cleanup_command, "SEMEL_WITNESS", one);
    if (!done) std::fprintf(stderr, "semel: --cleanup: %s\n", done.error().c_str());
  }
}

check::Watch progress_watch() {
  check::Watch watch;
  watch.interrupted = [] { return check_interrupted.load(); };
  if (isatty(STDERR_FILENO) == 1) {
    watch.begins = [](const check::Check& one, std::size_t place, std::size_t count) {
      const std::string line = fmt::format("{} of {}: {}", place, count, one.id);
      std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
    };
  }
  return watch;
}

int run_check(CheckFlags& flags) {
  if (const std::string trouble = settle_options(flags); !trouble.empty()) {
    return complain(trouble, kExitUsage);
  }
  if (flags.dry_run) {
    std::fputs(plan_text(flags.options).c_str(), stdout);
    return kExitOk;
  }
  if (const std::string why = unsafe_because(flags); !why.empty()) {
    return complain(why, check::kExitNotSafe);
  }
  const check::Estimate sum = estimate(flags.options);
  std::fprintf(stderr, "%d checks: about %d requests with %d effects (limits %d and %d)\n",
               sum.checks, sum.requests, sum.effects, flags.options.requests_max,
               flags.options.effects_max);
  signal(SIGPIPE, SIG_IGN);
  struct sigaction interrupt{};
  interrupt.sa_handler = [](int) { check_interrupted = true; };
  interrupt.sa_flags = SA_RESETHAND;  // the second time ends it at once
  sigaction(SIGINT, &interrupt, nullptr);
  const check::Report report = check::run(flags.options, progress_watch());
  if (isatty(STDERR_FILENO) == 1) std::fputs("\r\x1b[K", stderr);
  clean_up(flags.options, report);
  const bool written = write_reports(flags, report);
  const int code = exit_code(report, flags.options);
  return code == kExitOk && !written ? kExitFailed : code;
}

void add_request_options(CLI::App& command, CheckFlags& flags) {
  command.add_option("url", flags.url, "The endpoint")->required()->type_name("URL");
  command.add_option("-X,--method", flags.options.method, "Method of the requests")
      ->capture_default_str();
  command
      .add_option("-H,--header", flags.headers,
                  "A field of every request: 'Name: value', or @FILE with one per line")
      ->allow_extra_args(false)
      ->type_name("FIELD");
  command
      .add_option("--body", flags.body,
                  "The payload, or @FILE. {{n}} becomes a new number, {{uuid}} a new UUID,\n"
                  "{{key}} the key")
      ->type_name("TEXT");
  command.add_option("--content-type", flags.content_type, "Type of the payload")
      ->capture_default_str();
  command.add_option("--key-header", flags.options.key_header, "Field that holds the key")
      ->capture_default_str();
  command.add_flag("--required", flags.options.key_required,
                   "Requests without a key must be refused");
  command
      .add_option("--count", flags.options.count_url,
                  "A page with the number of effects so far; URL#/pointer if it is JSON")
      ->type_name("URL");
  command
      .add_option("--count-cmd", flags.options.count_command,
                  "A command that prints the number of effects so far")
      ->type_name("CMD");
  for (const auto& [name, what] : kUnlocking) {
    command.add_option(name, flags.extras[name], what)->type_name("TEXT");
  }
  command.add_option("--ttl", flags.ttl, "How long keys are kept, if short enough to wait for")
      ->type_name("DURATION");
  command.add_flag("--insecure", flags.insecure, "Do not verify the certificate");
  command.add_option("--cacert", flags.options.tls.authorities, "Certificates to trust")
      ->type_name("FILE");
}

void add_run_options(CLI::App& command, CheckFlags& flags) {
  check::Options& options = flags.options;
  command.add_option("--only", options.only, "Only this check or family; may be repeated")
      ->allow_extra_args(false)
      ->type_name("ID");
  command.add_flag("--dry-run", flags.dry_run, "List the checks and send nothing");
  command.add_flag("--strict", options.strict,
                   "Failures of the profile, and current state instead of the first answer, count");
  command.add_flag("--gentle", options.gentle, "Leave out keys with odd bytes");
  command.add_option("--race", options.race, "Requests at once in a race")
      ->capture_default_str()
      ->check(CLI::Range(2, 12));
  command.add_option("--repeat", options.repeat, "Run each check this often; the worst counts")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  command.add_flag("--yes", flags.yes, "Make these effects on another machine");
  command
      .add_option("--confirm", flags.confirmed_host,
                  "The host, by name, where it may be a production system")
      ->type_name("HOST");
  command.add_option("--max-requests", options.requests_max, "End after this many requests")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  command.add_option("--max-effects", options.effects_max, "End after this many effects")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  command
      .add_option("--rate", flags.rate,
                  "Requests per second, races apart; 20 for another machine, else no limit")
      ->check(CLI::Range(0, 10000));
  command.add_option("--timeout", flags.timeout, "End after this time")->capture_default_str();
  command.add_option("--request-timeout", flags.request_timeout, "How long to wait for an answer")
      ->capture_default_str();
  command.add_option("--patience", flags.patience, "How long a key may be in use")
      ->capture_default_str();
  command
      .add_option("--cleanup", options.cleanup_command,
                  "A command run per effect that was seen, with it in SEMEL_WITNESS")
      ->type_name("CMD");
  command.add_flag("-v,--verbose", flags.verbose, "Show every check and its exchanges");
  for (const char* name : {"--json", "--junit", "--html", "--markdown"}) {
    command
        .add_option(name, flags.files[name],
                    fmt::format("Write a report in {} form; - is standard output", name + 2))
        ->type_name("FILE");
  }
}

}  // namespace

void add_check(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand(
      "check", "Test how any HTTP endpoint treats idempotency keys, from outside");
  command->group(kGroupCall);
  command->footer(
      "Exit codes: 0 passed, 1 a check of the draft failed, 2 bad command line,\n"
      "3 a check of safety failed, 4 the endpoint cannot be checked,\n"
      "5 refused, because the effects may not be wanted.");
  auto flags = std::make_shared<CheckFlags>();
  add_request_options(*command, *flags);
  add_run_options(*command, *flags);
  command->callback([&run, flags] { run = [flags] { return run_check(*flags); }; });
}

}  // namespace semel::cli
