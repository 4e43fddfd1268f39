#include "cli/line/usage_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "cli/line/outline.h"
#include "config/reading/nearest.h"
#include "config/reading/values.h"

namespace semel::cli {
namespace {

using config::reading::shown;

// Adds where to read on, unless a guess at what was meant helps more.
std::string with_help(const CLI::App& command, const std::string& what) {
  if (what.ends_with('?')) return what;
  const std::string words = path_of(command).substr(std::string_view("semel").size());
  return fmt::format("{} See 'semel help{}'.", what, words);
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& names) {
  const std::vector<std::string_view> known(names.begin(), names.end());
  const auto name = config::reading::nearest(word, known);
  return name ? fmt::format(" Did you mean '{}'?", *name) : "";
}

std::vector<std::string> names_below(const CLI::App& group) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(group)) names.push_back(command->get_name());
  return names;
}

// Commands of other groups with this name: "semel ls" could be "semel keys ls".
std::string named_elsewhere(const CLI::App& group, const std::string& word) {
  std::string found;
  for (const CLI::App* below : commands_of(group)) {
    if (!find_command(*below, word)) continue;
    found += fmt::format("{}'semel {} {}'", found.empty() ? "" : " or ", below->get_name(), word);
  }
  return found.empty() ? "" : fmt::format(" Did you mean {}?", found);
}

std::string no_such_option(const CLI::App& command, const std::string& argument) {
  const std::string name = argument.substr(0, argument.find('='));
  std::vector<std::string> names;
  for (const OptionOutline& option : outline_of(command).options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  if (const CLI::App& chosen = chosen_command(command); &chosen != &command) {
    const auto has_it = [&name](const OptionOutline& option) {
      return std::ranges::find(option.names, name) != option.names.end();
    };
    if (std::ranges::any_of(outline_of(chosen).options, has_it)) {
      return fmt::format("put the option behind its command: '{} {}'.", path_of(chosen), name);
    }
  }
  return with_help(command, fmt::format("'{}' has no option '{}'.{}", path_of(command), shown(name),
                                        did_you_mean(name, names)));
}

std::string no_such_command(const CLI::App& group, const std::string& word) {
  const std::string where =
      group.get_parent() ? fmt::format(" in '{}'", path_of(group)) : std::string();
  std::string guess = named_elsewhere(group, word);
  if (guess.empty()) guess = did_you_mean(word, names_below(group));
  return with_help(group, fmt::format("no command '{}'{}.{}", shown(word), where, guess));
}

std::string not_expected(const CLI::App& command, const std::string& argument) {
  if (argument.starts_with('-') && argument != "-") return no_such_option(command, argument);
  if (!commands_of(command).empty()) return no_such_command(command, argument);
  return with_help(command, fmt::format("'{}' cannot use the argument '{}'.", path_of(command),
                                        shown(argument)));
}

// Returns the option that a message of CLI11 begins with or speaks of.
std::optional<OptionOutline> option_in(const CLI::App& command, const std::string& message) {
  for (const OptionOutline& option : outline_of(command).options) {
    std::vector<std::string> names = option.names;
    if (names.empty()) names.push_back(option.place);
    for (const std::string& name : names) {
      const std::size_t at = message.find(name);
      if (at == std::string::npos) continue;
      const char after = at + name.size() < message.size() ? message[at + name.size()] : ' ';
      if (after == ' ' || after == ':' || after == ',') return option;
    }
  }
  return std::nullopt;
}

std::string what_is_required(const CLI::App& command, const std::string& message) {
  if (!commands_of(command).empty()) {
    return fmt::format("'{}' needs a command: {}.", path_of(command),
                       fmt::join(names_below(command), ", "));
  }
  const auto option = option_in(command, message);
  if (!option) return fmt::format("'{}': {}.", path_of(command), message);
  return fmt::format("'{}' needs {}. {}.", path_of(command),
                     option->place.empty() ? shown_name(*option) : option->place, option->help);
}

std::string wrong_value(const CLI::App& command, const CLI::ParseError& error) {
  const std::string message = error.what();
  const auto option = option_in(command, message);
  if (!option) return fmt::format("'{}': {}.", path_of(command), shown(message));
  const std::string name = option->names.empty() ? option->place : option->names.back();
  if (!option->choices.empty()) {
    return fmt::format("{} must be one of: {}.", name, fmt::join(option->choices, ", "));
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error)) {
    if (message.find("received") != std::string::npos) {
      return fmt::format("{} was given more than once; give it once.", name);
    }
    return fmt::format("{} needs a value, as in '{}'.", name, shown_name(*option));
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error)) {
    const std::size_t equals = message.find(" = ");
    const std::string value = equals == message.npos ? "" : message.substr(equals + 3);
    return fmt::format("{}: '{}' is not a {}.", name, shown(value),
                       option->value == "NUMBER" ? "number in range" : option->value);
  }
  return shown(message) + ".";
}

}  // namespace

const CLI::App& chosen_command(const CLI::App& program) {
  const auto below = program.get_subcommands();
  return below.empty() ? program : chosen_command(*below.front());
}

std::expected<const CLI::App*, std::string> command_named_by(
    const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* command = &program;
  for (const std::string& word : words) {
    const CLI::App* below = find_command(*command, word);
    if (!below) return std::unexpected(no_such_command(*command, word));
    command = below;
  }
  return command;
}

std::string explain_usage(const CLI::App& command, const CLI::ParseError& error) {
  if (const auto rest = command.remaining(); !rest.empty()) {
    return not_expected(command, rest.front());
  }
  if (const auto below = command.get_subcommands(); !below.empty()) {
    return explain_usage(*below.front(), error);
  }
  const std::string what = dynamic_cast<const CLI::RequiredError*>(&error)
                               ? what_is_required(command, error.what())
                               : wrong_value(command, error);
  return with_help(command, what);
}

}  // namespace semel::cli
