#include "rl_training/experiment/yaml_reader.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <optional>
#include <sstream>
#include <unordered_map>

#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr size_t kMostBytes = size_t{1} << 20;
constexpr size_t kDeepest = 16;
constexpr size_t kLongestKey = 200;
constexpr size_t kLongestShown = 60;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string quoted(const std::string& text) { return "`" + shortened(text, kLongestShown) + "`"; }

// The origin of a text, for error messages. Values from the command line have no line numbers.
struct Source {
  std::string file;
  bool has_lines = true;

  int line(const YAML::Mark& mark) const { return has_lines ? mark.line + 1 : 0; }
  [[noreturn]] void fail(int line, const std::string& key, const std::string& message) const {
    throw Error(ErrorKind::config, {file, has_lines ? line : 0, key}, message);
  }
};

// Rejects text that yaml-cpp would silently misread: yaml-cpp treats a byte with the value 4 as the
// end of the text, accepts UTF-16, and ignores unknown directives.
void check_characters(std::string_view text, const Source& source) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    source.fail(1, "", "the text is UTF-16 (expected UTF-8)");
  }
  int line = 1;
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_character_length(text.substr(at));
    const auto c = static_cast<unsigned char>(text[at]);
    const bool line_end = c == '\n' || (c == '\r' && text.substr(at, 2) == "\r\n");
    if (length == 0) source.fail(line, "", "the text is not UTF-8");
    if (c == 0) source.fail(line, "", "the text holds a NUL byte (expected plain UTF-8)");
    if (c < 0x20 && c != '\t' && !line_end) {
      source.fail(line, "", "the text holds control character " + std::to_string(c));
    }
    if (text.substr(at).starts_with(kByteOrderMark)) {
      source.fail(line, "", "the text holds a byte order mark after its start");
    }
    if (c == '%' && (at == 0 || text[at - 1] == '\n')) {
      source.fail(line, "", "a line starts with % (YAML directives are not supported)");
    }
    if (c == '\n') ++line;
    at += length;
  }
}

// Builds the tree from yaml-cpp's events. There is no recursion, and aliases are never followed.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(const Source& source, std::string_view text) : source_(source), text_(text) {}

  ConfigNode root;
  bool block_style_used = false;

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) fail(mark, "a second document starts here (expected one document)");
  }
  void OnDocumentEnd() override {}

  void OnAnchor(const YAML::Mark& mark, const std::string& name) override {
    fail(mark, "anchors are not supported (got " + quoted("&" + name) + ")");
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fail(mark, "aliases are not supported");
  }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    if (wants_key()) fail(mark, "the key is empty (expected a name)");
    add(node_at(mark));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    refuse_tag(mark, tag);
    if (tag == "!") check_quotes(mark);
    if (value.find('\0') != std::string::npos) fail(mark, "the text holds a NUL character");
    if (wants_key()) {
      take_key(mark, value);
      return;
    }
    ConfigNode node = node_at(mark);
    node.kind = ConfigNode::Kind::scalar;
    node.text = value;
    node.quoted = tag == "!";
    add(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value style) override {
    open(mark, tag, style, ConfigNode::Kind::list);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  YAML::EmitterStyle::value style) override {
    open(mark, tag, style, ConfigNode::Kind::map);
  }
  void OnMapEnd() override { close(); }

 private:
  // A list or map that is still open.
  struct Level {
    ConfigNode node;
    std::optional<std::string> key;  // key of the next value
    int key_line = 0;
    std::unordered_map<std::string, int> lines_of_keys;
  };

  bool wants_key() const {
    return !levels_.empty() && levels_.back().node.kind == ConfigNode::Kind::map &&
           !levels_.back().key;
  }

  ConfigNode node_at(const YAML::Mark& mark) const {
    ConfigNode node;
    node.file = source_.file;
    node.line = source_.line(mark);
    return node;
  }

  void take_key(const YAML::Mark& mark, const std::string& name) {
    if (name.empty()) fail(mark, "the key is empty (expected a name)");
    if (name.size() > kLongestKey) {
      fail(mark, "the key is too long (expected at most " + std::to_string(kLongestKey) +
                     " bytes, got " + std::to_string(name.size()) + ")");
    }
    Level& level = levels_.back();
    level.key = name;
    level.key_line = source_.line(mark);
    const auto [earlier, is_new] = level.lines_of_keys.emplace(name, level.key_line);
    if (!is_new) {
      const auto where = source_.has_lines
                             ? " (first given in line " + std::to_string(earlier->second) + ")"
                             : std::string();
      fail(mark, "the key is given twice" + where);
    }
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::EmitterStyle::value style,
            ConfigNode::Kind kind) {
    refuse_tag(mark, tag);
    if (wants_key()) {
      fail(mark, std::string("the key is a ") + (kind == ConfigNode::Kind::map ? "map" : "list") +
                     " (expected a name; is a bracket left open?)");
    }
    if (levels_.size() == kDeepest) {
      fail(mark, "nested too deeply (expected at most " + std::to_string(kDeepest) + " levels)");
    }
    block_style_used |= style == YAML::EmitterStyle::Block;
    levels_.emplace_back();
    levels_.back().node = node_at(mark);
    levels_.back().node.kind = kind;
  }

  void close() {
    ConfigNode node = std::move(levels_.back().node);
    levels_.pop_back();
    add(std::move(node));
  }

  void add(ConfigNode node) {
    if (levels_.empty()) {
      root = std::move(node);
      return;
    }
    Level& level = levels_.back();
    if (level.node.kind == ConfigNode::Kind::list) {
      level.node.items.push_back(std::move(node));
      return;
    }
    // For a map, a list or an empty value, yaml-cpp reports the position of the token after the
    // key, which may be several lines below the key.
    if (node.kind != ConfigNode::Kind::scalar) node.line = level.key_line;
    level.node.entries.emplace_back(std::move(*level.key), std::move(node));
    level.key.reset();
  }

  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    // yaml-cpp uses "?" and "!" for plain and quoted text without a tag.
    if (!tag.empty() && tag != "?" && tag != "!") {
      fail(mark, "tags are not supported (got " + quoted(tag) + ")");
    }
  }

  // Throws if a quote is not closed: yaml-cpp would accept the end of the text as the closing
  // quote.
  void check_quotes(const YAML::Mark& mark) const {
    const auto begin = static_cast<size_t>(mark.pos);
    if (begin >= text_.size() || (text_[begin] != '"' && text_[begin] != '\'')) return;
    const char quote = text_[begin];
    for (size_t at = begin + 1; at < text_.size(); ++at) {
      const bool doubled = quote == '\'' && text_.substr(at, 2) == "''";
      const bool escaped = quote == '"' && text_[at] == '\\';
      if (doubled || escaped) {
        ++at;
      } else if (text_[at] == quote) {
        return;
      }
    }
    fail(mark, "the quote that starts here is not closed");
  }

  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& message) const {
    std::vector<std::string> keys;
    for (const auto& level : levels_) {
      if (level.key) keys.push_back(*level.key);
    }
    source_.fail(source_.line(mark), join(keys, "."), message);
  }

  const Source& source_;
  std::string_view text_;
  int documents_ = 0;
  std::vector<Level> levels_;
};

bool says_null(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return true;
  const auto word = text.substr(first, text.find_last_not_of(kBlank) - first + 1);
  return word == "~" || word == "null" || word == "Null" || word == "NULL";
}

// Checks the text and removes a byte order mark.
std::string_view checked(std::string_view text, const Source& source) {
  if (text.size() > kMostBytes) {
    source.fail(0, "",
                "the text is too long (expected at most " + std::to_string(kMostBytes) +
                    " bytes, got " + std::to_string(text.size()) + ")");
  }
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  check_characters(text, source);
  return text;
}

// Parses the text into `tree`. Returns false if the text contains no document.
bool parse(std::string_view text, const Source& source, TreeBuilder& tree) {
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    const bool found = parser.HandleNextDocument(tree);
    parser.HandleNextDocument(tree);  // `tree` rejects a second document
    return found;
  } catch (const YAML::Exception& problem) {
    if (problem.msg.starts_with(YAML::ErrorMsg::UNKNOWN_ANCHOR)) {
      source.fail(source.line(problem.mark), "", "aliases are not supported");
    }
    const auto message = shortened(problem.msg, kLongestShown);
    source.fail(problem.mark.is_null() ? 0 : source.line(problem.mark), "",
                "not valid YAML: " + message);
  }
}

}  // namespace

ConfigNode read_yaml(std::string_view text, const std::string& file) {
  const Source source{file, true};
  text = checked(text, source);
  TreeBuilder tree(source, text);
  if (!parse(text, source, tree)) {
    source.fail(0, "", "the file is empty (expected a map of keys)");
  }
  if (tree.root.kind != ConfigNode::Kind::map) {
    source.fail(tree.root.line, "",
                "not a map of keys (expected `key: value` lines, got " + tree.root.shown() + ")");
  }
  return std::move(tree.root);
}

ConfigNode read_yaml_value(std::string_view text, const std::string& origin) {
  const Source source{origin, false};
  text = checked(text, source);
  TreeBuilder tree(source, text);
  parse(text, source, tree);
  tree.root.file = origin;
  if (tree.block_style_used) {
    source.fail(
        0, "",
        "not one value (expected a value, [a, b] or {key: value}, got " + tree.root.shown() + ")");
  }
  // A text that consists only of a comment or a document mark would silently unset the key.
  if (tree.root.kind == ConfigNode::Kind::null && !says_null(text)) {
    source.fail(0, "",
                "the value would be read as null (got " + quoted(std::string(text)) +
                    "; put it in quotes)");
  }
  return std::move(tree.root);
}

}  // namespace rl_training
