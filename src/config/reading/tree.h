#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "config/environment.h"
#include "config/error.h"
#include "config/known_key.h"

// The YAML file as plain data, before it is interpreted. A hostile file is refused in bounded time
// and memory: size, nesting and the number of nodes (aliases count each time they are used) have
// limits.
namespace semel::config::reading {

inline constexpr std::size_t kFileBytesMax = 1024 * 1024;
inline constexpr int kNestingMax = 16;
inline constexpr std::size_t kNodesMax = 50'000;
inline constexpr std::size_t kTextBytesMax = 4 * 1024 * 1024;

enum class NodeKind {
  null,
  scalar,
  sequence,
  mapping,
  broken,  // already reported; report nothing more about it
};

struct Node {
  NodeKind kind = NodeKind::null;
  int line = 0;                // from 1; of the key, in a mapping
  std::string name;            // its key, in a mapping
  std::string text;            // scalar: the value, with variables expanded
  std::string written;         // scalar: as written in the file, without the values of variables
  std::vector<Node> children;  // sequence, mapping

  const Node* find(std::string_view child_name) const;
};

// Collects the errors and warnings found so far.
struct Report {
  std::string file;
  std::vector<ConfigError> errors;
  std::vector<ConfigError> warnings;
  KnownKey known = {};
};

// Returns the root of the file's one document. Unset variables and keys given twice are reported,
// and the remaining tree can still be read; any other fault is returned as the one error.
std::expected<Node, ConfigError> load_tree(std::string_view yaml, const Environment& environment,
                                           Report& report);

std::string member_path(const std::string& parent, std::string_view name);
std::string item_path(const std::string& parent, std::size_t index);

}  // namespace semel::config::reading
