#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "config/reading/tree.h"
#include "config/reading/values.h"

// Strict reading of the tree: reports everything that is not understood, with its line and what
// would be.
namespace semel::config::reading {

inline constexpr std::size_t kListEntriesMax = 256;

inline constexpr std::size_t kFilePathLengthMax = 4096;
inline constexpr std::size_t kDiskBytesMax = std::size_t{1} << 50;

// One value in the file: where it is, and where to report errors about it. Refers to a tree and a
// report that outlive it. The read functions leave `out` alone if the value is wrong.
class Field {
 public:
  Field(const Node& node, std::string path, Report& report)
      : node_(&node), path_(std::move(path)), report_(&report) {}

  const Node& node() const { return *node_; }

  void error(std::string message) const;
  void warn(std::string message) const;
  // Returns the same value, with its errors reported elsewhere.
  Field reporting_to(Report& report) const { return Field(*node_, path_, report); }

  // Returns a member of this mapping. If the file does not have it, errors are reported under its
  // name, on this line.
  Field at(std::string_view name) const;

  // Tells the report that this mapping may have a member of this name.
  void may_have(std::string_view name) const;

  // Returns the value; nullopt: not a single value, which has been reported.
  std::optional<std::string> text() const;
  // Returns the entries of a list. Empty: not a list, or one with too many entries, which has been
  // reported.
  std::vector<Field> items(std::size_t entries_max = kListEntriesMax) const;
  // Like items(), but accepts a single value as a list of one.
  std::vector<Field> item_or_items() const;

  // Returns the value as `parse` reads it (see Parsed); nullopt: wrong, which has been reported.
  template <class Parse>
  auto parsed(Parse parse) const
      -> std::optional<typename std::invoke_result_t<Parse, std::string_view>::value_type> {
    const std::optional<std::string> value = text();
    if (!value) return std::nullopt;
    auto result = parse(*value);
    if (!result) {
      bad_value(result.error());
      return std::nullopt;
    }
    return *std::move(result);
  }
  // Reports "'value' " and then the complaint. Shows the value as written, never the content of a
  // variable, and no password of a URL.
  void bad_value(std::string_view complaint) const;

  void read(bool& out) const;
  void read(std::string& out, std::size_t length_min, std::size_t length_max) const;
  void read(Duration& out, Duration min, Duration max = kDurationMax) const;
  void read_count(std::size_t& out, std::size_t min, std::size_t max) const;
  void read_size(std::size_t& out, std::size_t min, std::size_t max) const;
  void read_header_name(std::string& out) const;
  void read_header_names(std::vector<std::string>& out) const;
  // Reads the name of a header that Semel reads or writes; reports a name that HTTP uses for
  // something else. The message suggests a name like `example`.
  void read_free_header_name(std::string& out, std::string_view example) const;

 private:
  const Node* node_;
  std::string path_;
  Report* report_;
};

inline constexpr std::nullopt_t kLaterChoice = std::nullopt;

// A word that the file may use, and its meaning. kLaterChoice: refused in this version.
template <class T>
struct Choice {
  std::string_view name;
  std::optional<T> value;
};

void report_bad_choice(const Field& field, std::string_view value,
                       std::span<const std::string_view> names,
                       std::span<const std::string_view> later_names);

// Returns false if the value is none of the choices: `out` is unchanged, and the reason has been
// reported.
template <class T>
bool read_choice(const Field& field, std::initializer_list<Choice<std::type_identity_t<T>>> choices,
                 T& out) {
  const std::optional<std::string> value = field.text();
  if (!value) return false;
  std::vector<std::string_view> names;
  std::vector<std::string_view> later_names;
  for (const Choice<T>& choice : choices) {
    if (choice.value && choice.name == *value) {
      out = *choice.value;
      return true;
    }
    (choice.value ? names : later_names).push_back(choice.name);
  }
  report_bad_choice(field, *value, names, later_names);
  return false;
}

// A key that a mapping may have, and how it is read into a T.
template <class T>
struct Key {
  std::string_view name;
  void (*read)(const Field& value, T& out);
};

// Returns false if it is not a mapping, which has been reported.
bool is_mapping(const Field& field);
void report_unknown_key(const Field& value, std::span<const std::string_view> known_names);

// Reads every member by the table. A member that is not in the table is an error.
template <class T>
void read_mapping(const Field& field, std::span<const Key<std::type_identity_t<T>>> keys, T& out) {
  if (!is_mapping(field)) return;
  for (const Key<T>& key : keys) field.may_have(key.name);
  for (const Node& child : field.node().children) {
    const Field value = field.at(child.name);
    const auto key = std::ranges::find(keys, child.name, &Key<T>::name);
    if (key == keys.end()) {
      std::vector<std::string_view> known_names;
      for (const Key<T>& known : keys) known_names.push_back(known.name);
      report_unknown_key(value, known_names);
    } else {
      key->read(value, out);
    }
  }
}

}  // namespace semel::config::reading
