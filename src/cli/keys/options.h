#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/admin/client.h"

namespace semel::cli {

// The command line of `semel keys`.
struct KeysOptions {
  AdminOptions admin;
  bool as_json = false;
  std::string id;
  std::vector<std::string> where;
  // Searches with an option of their own, since their values may contain a comma.
  std::string state;
  std::string operation;
  std::string record;
  std::string resource;
  std::string described;
  std::string text;
  std::size_t limit = 100;
  bool answers = false;
  std::string reason;
  std::string ttl;
  bool force = false;
  bool dry_run = false;
  int status = 0;
  std::vector<std::string> headers;
  std::string body;
};

// Returns what the options search for, by the names of the admin API. The error is the exit code;
// the reason has been printed.
std::expected<boost::json::object, int> filter_of(const KeysOptions& options);

int list_keys(const KeysOptions& options, AdminClient& admin);
int show_key(const KeysOptions& options, AdminClient& admin);
int export_keys(const KeysOptions& options, AdminClient& admin);
// `verb` is "resolve", "release" or "forget".
int decide_keys(const KeysOptions& options, AdminClient& admin, const char* verb);
int extend_key(const KeysOptions& options, AdminClient& admin);

}  // namespace semel::cli
