#include "cli/line/candidates.h"

#include <algorithm>

namespace semel::cli {
namespace {

// How far a command line has got.
struct LinePosition {
  const CommandOutline* command = nullptr;
  const OptionOutline* open = nullptr;      // an option whose value comes next
  std::vector<const OptionOutline*> given;  // by name
  std::vector<std::string> placed;          // words without a name
};

const OptionOutline* option_named(const CommandOutline& command, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  for (const OptionOutline& option : command.options) {
    if (std::ranges::find(option.names, name) != option.names.end()) return &option;
  }
  return nullptr;
}

const CommandOutline* command_named(const CommandOutline& command, const std::string& word) {
  const auto found = std::ranges::find(command.commands, word, &CommandOutline::name);
  return found == command.commands.end() ? nullptr : &*found;
}

void step(LinePosition& at, const std::string& word) {
  if (at.open) {
    if (word != "=") at.open = nullptr;  // bash has "--config=x" as three words
  } else if (word.starts_with('-') && word != "-") {
    const OptionOutline* option = option_named(*at.command, word);
    if (!option) return;
    at.given.push_back(option);
    if (!option->value.empty() && word.find('=') == std::string::npos) at.open = option;
  } else if (const CommandOutline* below = command_named(*at.command, word)) {
    at.command = below;
  } else {
    at.placed.push_back(word);
  }
}

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

class CandidateLines {
 public:
  explicit CandidateLines(std::string begin) : begin_(std::move(begin)) {}

  void add(const std::string& word, const std::string& help) {
    if (word.starts_with(begin_)) lines_.push_back(word + "\t" + one_line(help));
  }
  void add_commands(const CommandOutline& group) {
    for (const CommandOutline& command : group.commands) add(command.name, command.help);
  }
  void add_options(const LinePosition& at) {
    for (const OptionOutline& option : at.command->options) {
      const bool is_given = std::ranges::find(at.given, &option) != at.given.end();
      if (is_given && !option.repeated) continue;
      for (const std::string& name : option.names) add(name, option.help);
    }
  }
  void add_values(const OptionOutline& option) {
    for (const std::string& choice : option.choices) add(choice, option.help);
    if (option.value == "FILE") lines_.emplace_back(":file");
    if (option.value == "FOLDER") lines_.emplace_back(":folder");
  }
  std::vector<std::string> take() { return std::move(lines_); }

 private:
  const std::string begin_;
  std::vector<std::string> lines_;
};

// Returns the option whose place comes next, if there is one.
const OptionOutline* next_place(const LinePosition& at) {
  std::size_t passed = 0;
  for (const OptionOutline& option : at.command->options) {
    if (option.place.empty() || std::ranges::find(at.given, &option) != at.given.end()) continue;
    if (option.repeated || passed == at.placed.size()) return &option;
    ++passed;
  }
  return nullptr;
}

// "semel help keys l": the command that the words so far name.
const CommandOutline* command_at(const CommandOutline& program,
                                 const std::vector<std::string>& words) {
  const CommandOutline* found = &program;
  for (const std::string& word : words) {
    found = command_named(*found, word);
    if (!found) return nullptr;
  }
  return found;
}

}  // namespace

std::vector<std::string> candidates_for(const CommandOutline& program,
                                        const std::vector<std::string>& words) {
  LinePosition at;
  at.command = &program;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) step(at, words[i]);
  std::string last = words.empty() ? "" : words.back();
  if (at.open && last == "=") last.clear();
  if (const std::size_t equals = last.find('='); !at.open && equals != last.npos) {
    at.open = option_named(*at.command, last);
    last.erase(0, equals + 1);
  }
  CandidateLines lines(last);
  if (at.open) {
    lines.add_values(*at.open);
  } else if (last.starts_with('-')) {
    lines.add_options(at);
  } else if (!at.command->commands.empty()) {
    lines.add_commands(*at.command);
  } else if (const OptionOutline* place = next_place(at)) {
    const CommandOutline* group =
        place->place == "COMMAND" ? command_at(program, at.placed) : nullptr;
    group ? lines.add_commands(*group) : lines.add_values(*place);
  }
  return lines.take();
}

}  // namespace semel::cli
