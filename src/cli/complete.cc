#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <boost/beast/http.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>

#include "cli/commands.h"
#include "cli/http_client.h"
#include "cli/load_config.h"
#include "config/reading/values.h"
#include "core/record_bytes.h"
#include "postgres/link.h"
#include "postgres/schema.h"
#include "semel/completer.h"

// Resumes abandoned operations by handing their claims to the application, as the gateway would:
// with Semel-Record and Semel-Token. If the application does not finish an operation, it stays as
// it is and is tried again; nothing is decided here.
namespace semel::cli {
namespace {

namespace beast_http = boost::beast::http;

struct CompleteOptions {
  std::string config_file;
  std::string url;
  std::string schema = "semel";
  std::vector<std::string> operations;
  std::string to;
  std::string content_type = "application/json";
  std::string timeout = "30s";
  std::string every = "1s";
  int max_attempts = 20;
  bool once = false;
};

struct Settled {
  config::Url to;
  Duration timeout;
  Duration every;
  pg::CompleterOptions completer;
};

bool refuse(const std::string& what) {
  complain(what, kExitUsage);
  return false;
}

bool settle_duration(const char* option, const std::string& text, Duration& into) {
  const auto parsed = config::reading::parse_duration(text);
  if (!parsed) return refuse(fmt::format("{}: '{}' {}", option, text, parsed.error()));
  if (*parsed <= Duration(0)) return refuse(fmt::format("{} must be longer than 0", option));
  into = *parsed;
  return true;
}

bool settle(CompleteOptions& options, Settled& settled) {
  if (!options.config_file.empty()) {
    const auto config = load_config(options.config_file);
    if (!config) return false;
    if (config->store.kind != stores::StoreKind::postgres &&
        config->store.kind != stores::StoreKind::tiered) {
      return refuse(options.config_file + " has no store of kind postgres or tiered");
    }
    options.url = config->store.url;
    options.schema = config->store.schema;
  }
  if (options.url.empty()) return refuse("no database given; use --config FILE or --url URL");
  if (!postgres::is_schema_name(options.schema)) {
    return refuse(fmt::format("'{}' is not a schema name; use lower-case letters, digits and _",
                              config::reading::shown(options.schema)));
  }
  const auto to = config::reading::parse_url(options.to);
  if (!to) return refuse(fmt::format("--to: '{}' {}", options.to, to.error()));
  if (to->tls)
    return refuse("--to: only http:// is supported; use a local address of the application");
  if (!settle_duration("--timeout", options.timeout, settled.timeout) ||
      !settle_duration("--every", options.every, settled.every)) {
    return false;
  }
  settled.to = *to;
  settled.completer.schema = options.schema;
  settled.completer.max_attempts = options.max_attempts;
  // The claim outlives the wait for the answer, so that nobody else is sent there meanwhile.
  settled.completer.lease = settled.timeout + std::chrono::seconds(5);
  return true;
}

std::string shown(const pg::Abandoned& one) {
  return fmt::format("{} {} {}", config::reading::shown(one.name), config::reading::shown(one.key),
                     core::shown_id(one.claim.record));
}

// Resumes one operation and prints in one line what became of it. False: it is not finished.
bool resume(PGconn* connection, const CompleteOptions& options, const Settled& settled,
            const pg::Abandoned& one) {
  HttpRequest request(beast_http::verb::post, settled.to.target, 11);
  request.set(beast_http::field::content_type, options.content_type);
  // A key that cannot be a header's value is left out: Semel-Record names it as well.
  const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (std::ranges::all_of(one.key, is_printable)) request.set("Idempotency-Key", one.key);
  request.set("Semel-Record", one.claim.record.hex());
  request.set("Semel-Token", one.claim.token.hex());
  request.set("Semel-Attempt", std::to_string(one.claim.attempt));
  request.body() = one.arguments;
  const HttpClient application(settled.to.address.host, settled.to.address.port, settled.timeout);
  const auto answer = application.ask(std::move(request));
  if (!pg::is_unfinished(connection, one.claim, options.schema)) {
    std::printf("completed %s from '%s'\n", shown(one).c_str(), one.recovery_point.c_str());
    return true;
  }
  // Without an answer the application may still be working on it: its lease decides.
  const std::string why = answer ? fmt::format("answered {}", answer->result_int())
                                 : "no answer: " + answer.error().why;
  if (answer && answer->result_int() >= 300) {
    pg::give_back(connection, one.claim, why, options.schema);
  }
  std::printf("not finished %s from '%s': %s\n", shown(one).c_str(), one.recovery_point.c_str(),
              why.c_str());
  return false;
}

// Returns whether a signal that asks to end is pending.
bool is_asked_to_end() {
  sigset_t waiting;
  sigpending(&waiting);
  return sigismember(&waiting, SIGTERM) == 1 || sigismember(&waiting, SIGINT) == 1;
}

// Resumes everything that is due, once. Returns the number of operations that are not finished.
int round(PGconn* connection, const CompleteOptions& options, const Settled& settled,
          std::set<RecordId>& told) {
  int unfinished = 0;
  for (int i = 0; i < settled.completer.at_most && !is_asked_to_end(); ++i) {
    const auto one = pg::take_abandoned(connection, options.operations, settled.completer);
    if (!one) break;
    if (!resume(connection, options, settled, *one)) ++unfinished;
  }
  for (const auto& one : pg::find_stuck(connection, options.operations, settled.completer)) {
    ++unfinished;
    if (!told.insert(one.record).second) continue;
    std::printf("stuck %s %s %s at '%s' after %d attempts: %s\n",
                config::reading::shown(one.name).c_str(), config::reading::shown(one.key).c_str(),
                core::shown_id(one.record).c_str(), one.recovery_point.c_str(), one.attempts,
                config::reading::shown(one.why).c_str());
  }
  std::fflush(stdout);
  return unfinished;
}

// Connects and checks the schema: a step that is done by functions of another version could be done
// twice.
std::expected<postgres::PgLink, postgres::SchemaMisfit> connect(const CompleteOptions& options) {
  constexpr auto kPatience = std::chrono::seconds(10);
  auto link = postgres::PgLink::connect(options.url);
  if (!link) return std::unexpected(postgres::SchemaMisfit{.why = std::move(link.error())});
  link->set_deadline(std::chrono::steady_clock::now() + kPatience);
  if (auto misfit = postgres::misfit_of_schema(*link, options.schema)) {
    return std::unexpected(*std::move(misfit));
  }
  return *std::move(link);
}

postgres::PgLink connect_or_throw(const CompleteOptions& options) {
  auto link = connect(options);
  if (!link) throw pg::Error("", link.error().why);
  return *std::move(link);
}

// True: a signal asks to end.
bool wait_for_signal(const sigset_t& signals, Duration at_most) {
  const timespec wait{at_most.count() / 1000, (at_most.count() % 1000) * 1'000'000};
  return sigtimedwait(&signals, nullptr, &wait) > 0;
}

int complete(CompleteOptions options) {
  Settled settled;
  if (!settle(options, settled)) return kExitUsage;
  std::set<RecordId> told;
  if (options.once) {
    const postgres::PgLink link = connect_or_throw(options);
    return round(link.get(), options, settled, told) == 0 ? kExitOk : kExitFailed;
  }
  // Only at the start: if the schema is upgraded later, this process waits to be replaced.
  std::optional<postgres::PgLink> link;
  if (auto first = connect(options)) {
    link = *std::move(first);
  } else if (first.error().unfit) {
    refuse(first.error().why);
    return kExitFailed;
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  do {
    try {
      if (!link) link = connect_or_throw(options);
      round(link->get(), options, settled, told);
    } catch (const pg::Error& error) {  // the database is away: try again
      complain(error.what(), kExitFailed);
      link.reset();
    }
  } while (!wait_for_signal(signals, settled.every));
  return kExitOk;
}

}  // namespace

void add_complete(CLI::App& app, Run& run) {
  CLI::App* command =
      app.add_subcommand("complete",
                         "Resume abandoned operations in phases:\n"
                         "post their arguments to the application, with their key and claim");
  auto options = std::make_shared<CompleteOptions>();
  command->group(kGroupRun);
  add_config_file(*command, options->config_file,
                  "A configuration file with store: {kind: postgres}");
  command->add_option("--url", options->url, "The database, postgresql://…; instead of --config")
      ->type_name("URL");
  command->add_option("--schema", options->schema, "The name of the schema; with --url")
      ->capture_default_str();
  command->add_option("--operation", options->operations, "The name of the operation")
      ->allow_extra_args(false)
      ->required()
      ->type_name("NAME");
  command->add_option("--to", options->to, "URL of the application: http://host:port/path")
      ->required()
      ->type_name("URL");
  command->add_option("--content-type", options->content_type, "Content type of the arguments")
      ->capture_default_str();
  command->add_option("--timeout", options->timeout, "How long to wait for an answer")
      ->capture_default_str();
  command->add_option("--every", options->every, "How often to look for abandoned operations")
      ->capture_default_str();
  command
      ->add_option("--max-attempts", options->max_attempts,
                   "Attempts after which an operation is stuck: it is listed, and left to retries "
                   "and people")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  command->add_flag("--once", options->once,
                    "Look once, and exit with code 1 if something is not finished; without it, run "
                    "until SIGTERM");
  command->callback([&run, options] { run = [options] { return complete(*options); }; });
}

}  // namespace semel::cli
