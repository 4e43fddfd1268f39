#include "config/reading/tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "config/reading/values.h"

namespace semel::config::reading {
namespace {

struct Refused {
  int line;
  std::string message;
};

int line_of(const YAML::Mark& mark) {
  return mark.is_null() ? 0 : mark.line + 1;
}

Node make_node(NodeKind kind, int line) {
  Node node;
  node.kind = kind;
  node.line = line;
  return node;
}

// Builds the tree from the parser's events. YAML::Load would build its own first, which has no
// limits, follows aliases in circles and drops repeated keys.
class TreeBuilder : public YAML::EventHandler {
 public:
  Node take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (std::exchange(has_document_, true)) {
      throw Refused{line_of(mark),
                    "text after the end of the document; the file must be one document"};
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(make_node(NodeKind::null, line_of(mark)), anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node = make_node(NodeKind::scalar, line_of(mark));
    node.written = value;
    add(std::move(node), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto anchored = anchors_.find(anchor);
    if (anchored == anchors_.end()) {
      throw Refused{line_of(mark), "an alias is used inside the value that it stands for"};
    }
    charge_subtree(anchored->second, line_of(mark));
    Node copy = anchored->second;
    copy.line = line_of(mark);
    place(std::move(copy));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(NodeKind::sequence, mark, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(NodeKind::mapping, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    Node node;
    YAML::anchor_t anchor = YAML::NullAnchor;
    bool wants_value = false;  // a mapping whose last child has its key only
  };

  void open(NodeKind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (open_.size() == kNestingMax) {
      throw Refused{line_of(mark), fmt::format("nested deeper than {} levels", kNestingMax)};
    }
    open_.push_back({make_node(kind, line_of(mark)), anchor});
  }

  void close() {
    Frame frame = std::move(open_.back());
    open_.pop_back();
    add(std::move(frame.node), frame.anchor);
  }

  void add(Node node, YAML::anchor_t anchor) {
    charge(node, node.line);
    if (anchor != YAML::NullAnchor) anchors_[anchor] = node;
    place(std::move(node));
  }

  void place(Node node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& parent = open_.back();
    if (parent.node.kind == NodeKind::sequence) {
      parent.node.children.push_back(std::move(node));
    } else if (!parent.wants_value) {
      if (node.kind != NodeKind::scalar) {
        throw Refused{node.line, "a key must be a plain word"};
      }
      Node member = make_node(NodeKind::null, node.line);
      member.name = std::move(node.written);
      parent.node.children.push_back(std::move(member));
      parent.wants_value = true;
    } else {
      Node& member = parent.node.children.back();
      node.line = member.line;
      node.name = std::move(member.name);
      member = std::move(node);
      parent.wants_value = false;
    }
  }

  void charge(const Node& node, int line) {
    nodes_ += 1;
    text_bytes_ += node.name.size() + node.written.size();
    if (nodes_ > kNodesMax || text_bytes_ > kTextBytesMax) {
      throw Refused{line, "too many values, counting each use of an alias"};
    }
  }

  // Throws before anything is copied that the limits do not allow.
  void charge_subtree(const Node& node, int line) {
    charge(node, line);
    for (const Node& child : node.children) charge_subtree(child, line);
  }

  Node root_;
  std::vector<Frame> open_;
  std::map<YAML::anchor_t, Node> anchors_;
  bool has_document_ = false;
  std::size_t nodes_ = 0;
  std::size_t text_bytes_ = 0;
};

// Variables are expanded only now, in single values, so that none can add structure to the file.
void expand(Node& node, const std::string& path, const Environment& environment, Report& report) {
  const auto error = [&](int line, const std::string& key, std::string message) {
    report.errors.push_back({report.file, line, key, std::move(message)});
  };
  if (node.kind == NodeKind::scalar) {
    Parsed<std::string> text = expand_environment(node.written, environment);
    if (text) {
      node.text = *std::move(text);
    } else {
      node.kind = NodeKind::broken;
      error(node.line, path, fmt::format("{} {}", quote(node.written), text.error()));
    }
  } else if (node.kind == NodeKind::sequence) {
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      expand(node.children[i], item_path(path, i), environment, report);
    }
  } else if (node.kind == NodeKind::mapping) {
    std::map<std::string, int> line_by_name;
    std::erase_if(node.children, [&](const Node& child) {
      const auto [first, is_new] = line_by_name.try_emplace(child.name, child.line);
      if (!is_new) {
        error(child.line, member_path(path, child.name),
              fmt::format("given twice; the first is on line {}", first->second));
      }
      return !is_new;
    });
    for (Node& child : node.children) {
      expand(child, member_path(path, child.name), environment, report);
    }
  }
}

}  // namespace

const Node* Node::find(std::string_view child_name) const {
  const auto found = std::ranges::find(children, child_name, &Node::name);
  return kind == NodeKind::mapping && found != children.end() ? &*found : nullptr;
}

std::expected<Node, ConfigError> load_tree(std::string_view yaml, const Environment& environment,
                                           Report& report) {
  const auto refuse = [&](int line, std::string message) {
    return std::unexpected(ConfigError{report.file, line, "", std::move(message)});
  };
  if (yaml.size() > kFileBytesMax) {
    return refuse(0, fmt::format("the file is larger than {}", format_size(kFileBytesMax)));
  }
  TreeBuilder builder;
  try {
    std::istringstream stream{std::string(yaml)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Refused& refused) {
    return refuse(refused.line, refused.message);
  } catch (const YAML::Exception& exception) {
    return refuse(line_of(exception.mark), "not valid YAML: " + shown(exception.msg));
  }
  Node root = builder.take_root();
  expand(root, "", environment, report);
  return root;
}

std::string member_path(const std::string& parent, std::string_view name) {
  return parent.empty() ? shown(name) : parent + "." + shown(name);
}

std::string item_path(const std::string& parent, std::size_t index) {
  return fmt::format("{}[{}]", parent, index);
}

}  // namespace semel::config::reading
