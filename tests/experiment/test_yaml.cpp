#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <random>

#include "rl_training/experiment/yaml_reader.h"
#include "rl_training/experiment/yaml_writer.h"

namespace rl_training::test_yaml {
namespace {

using Kind = ConfigNode::Kind;
using namespace std::string_literals;

std::string error_of(std::string_view text) {
  try {
    read_yaml(text, "c.yaml");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  return "no error";
}

std::string value_error_of(std::string_view text) {
  try {
    read_yaml_value(text, "--set x");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  return "no error";
}

TEST(YamlReader, KeepsValuesQuotesAndLines) {
  const auto root = read_yaml(
      "# a comment\n"
      "algo: td3_bc\n"
      "seed: 3\n"
      "name: \"3\"\n"
      "other: '~'\n"
      "algo_kwargs:\n"
      "  hidden_sizes: [256,\n"
      "    128]\n"
      "  gamma: 0.99\n"
      "tags:\n"
      "  - a\n"
      "  - {b: 1}\n"
      "empty:\n"
      "tilde: ~\n"
      "nothing: null\n"
      "text: |\n"
      "  two\n"
      "  lines\n",
      "dir/c.yaml");
  ASSERT_EQ(root.kind, Kind::map);
  ASSERT_EQ(root.entries.size(), 10U);
  EXPECT_EQ(root.line, 2);
  EXPECT_EQ(root.file, "dir/c.yaml");
  EXPECT_EQ(root.find("algo")->text, "td3_bc");
  EXPECT_EQ(root.find("algo")->line, 2);
  EXPECT_EQ(root.find("algo")->file, "dir/c.yaml");
  EXPECT_EQ(root.find("seed")->text, "3");
  EXPECT_FALSE(root.find("seed")->quoted);
  EXPECT_EQ(root.find("name")->text, "3");
  EXPECT_TRUE(root.find("name")->quoted);
  EXPECT_EQ(root.find("other")->kind, Kind::scalar);
  EXPECT_TRUE(root.find("other")->quoted);
  const auto* kwargs = root.find("algo_kwargs");
  ASSERT_EQ(kwargs->kind, Kind::map);
  EXPECT_EQ(kwargs->line, 6);
  EXPECT_EQ(kwargs->find("gamma")->line, 9);
  const auto* sizes = kwargs->find("hidden_sizes");
  ASSERT_EQ(sizes->kind, Kind::list);
  ASSERT_EQ(sizes->items.size(), 2U);
  EXPECT_EQ(sizes->items[0].line, 7);
  EXPECT_EQ(sizes->items[1].text, "128");
  EXPECT_EQ(sizes->items[1].line, 8);
  const auto* tags = root.find("tags");
  ASSERT_EQ(tags->items.size(), 2U);
  EXPECT_EQ(tags->line, 10);
  EXPECT_EQ(tags->items[0].line, 11);
  EXPECT_EQ(tags->items[1].find("b")->text, "1");
  EXPECT_EQ(tags->items[1].line, 12);
  for (const char* key : {"empty", "tilde", "nothing"}) {
    EXPECT_EQ(root.find(key)->kind, Kind::null) << key;
  }
  EXPECT_EQ(root.find("empty")->line, 13);
  EXPECT_EQ(root.find("text")->text, "two\nlines\n");
}

TEST(YamlReader, TakesWindowsLineEndsAndAByteOrderMark) {
  const auto root = read_yaml(
      "\xEF\xBB\xBF"
      "a: 1\r\nb: 2\r\n",
      "c.yaml");
  EXPECT_EQ(root.find("a")->text, "1");
  EXPECT_EQ(root.find("b")->text, "2");
  EXPECT_EQ(root.find("b")->line, 2);
}

TEST(YamlReader, TakesOneDocumentWithMarks) {
  EXPECT_EQ(read_yaml("---\na: 1\n...\n", "c").find("a")->text, "1");
}

TEST(YamlReader, NamesBothLinesOfADuplicateKey) {
  EXPECT_EQ(error_of("a: 1\nb: 2\na: 3\n"),
            "c.yaml:3: a: the key is given twice (first given in line 1)");
  EXPECT_EQ(error_of("k:\n  gamma: 1\n  'gamma': 2\n"),
            "c.yaml:3: k.gamma: the key is given twice (first given in line 2)");
  EXPECT_EQ(error_of("k: {x: 1, x: 1}\n"),
            "c.yaml:1: k.x: the key is given twice (first given in line 1)");
  EXPECT_EQ(error_of("k: {x: 1}\nl: {x: 1}\n"), "no error");
}

TEST(YamlReader, RefusesWhatIsNotPlainYaml) {
  EXPECT_EQ(error_of("a: 1\nb: &x 2\n"), "c.yaml:2: b: anchors are not supported (got `&x`)");
  EXPECT_EQ(error_of("a: 1\nb: *x\n"), "c.yaml:2: aliases are not supported");
  EXPECT_EQ(error_of("a: 1\nb: !!str 2\n"),
            "c.yaml:2: b: tags are not supported (got `tag:yaml.org,2002:str`)");
  EXPECT_EQ(error_of("a: !mine [1]\n"), "c.yaml:1: a: tags are not supported (got `!mine`)");
  EXPECT_EQ(error_of("!!map {a: 1}\n"),
            "c.yaml:1: tags are not supported (got `tag:yaml.org,2002:map`)");
  EXPECT_EQ(error_of("%YAML 1.2\n---\na: 1\n"),
            "c.yaml:1: a line starts with % (YAML directives are not supported)");
  EXPECT_EQ(error_of("a: 1\n---\nb: 1\n"),
            "c.yaml:2: a second document starts here (expected one document)");
  EXPECT_EQ(error_of("a:\n  ? [1, 2]\n  : 3\n"),
            "c.yaml:2: a: the key is a list (expected a name; is a bracket left open?)");
  EXPECT_EQ(error_of("? {x: 1}\n: 3\n"),
            "c.yaml:1: the key is a map (expected a name; is a bracket left open?)");
  EXPECT_EQ(error_of("~: 3\n"), "c.yaml:1: the key is empty (expected a name)");
  EXPECT_EQ(error_of("'': 3\n"), "c.yaml:1: the key is empty (expected a name)");
  EXPECT_EQ(error_of(std::string(201, 'k') + ": 1\n"),
            "c.yaml:1: the key is too long (expected at most 200 bytes, got 201)");
}

TEST(YamlReader, RefusesARootThatIsNotAMap) {
  EXPECT_EQ(error_of(""), "c.yaml: the file is empty (expected a map of keys)");
  EXPECT_EQ(error_of("# only a comment\n"), "c.yaml: the file is empty (expected a map of keys)");
  EXPECT_EQ(error_of("\n- 1\n- 2\n"),
            "c.yaml:2: not a map of keys (expected `key: value` lines, got [1, 2])");
  EXPECT_EQ(error_of("gamma:0.9\n"),
            "c.yaml:1: not a map of keys (expected `key: value` lines, got gamma:0.9)");
}

TEST(YamlReader, RefusesTextThatIsNotPlainUtf8) {
  EXPECT_EQ(error_of("a: 1\nb: \"x\0y\"\n"s),
            "c.yaml:2: the text holds a NUL byte (expected plain UTF-8)");
  EXPECT_EQ(error_of("a: 1\nb: \x04\nc: 3\n"), "c.yaml:2: the text holds control character 4");
  EXPECT_EQ(error_of("a: 1\rb: 2\n"), "c.yaml:1: the text holds control character 13");
  EXPECT_EQ(error_of("a: 1\nb: \"\\0\"\n"), "c.yaml:2: b: the text holds a NUL character");
  EXPECT_EQ(error_of("\xFF\xFE"
                     "a\0:\0"s),
            "c.yaml:1: the text is UTF-16 (expected UTF-8)");
  EXPECT_EQ(error_of("\xFE\xFF\0a\0:"s), "c.yaml:1: the text is UTF-16 (expected UTF-8)");
  EXPECT_EQ(error_of("a\0:\0 \0001\0"s),
            "c.yaml:1: the text holds a NUL byte (expected plain UTF-8)");
  EXPECT_EQ(error_of("a: 1\nb: \xEF\xBB\xBF"
                     "2\n"),
            "c.yaml:2: the text holds a byte order mark after its start");
  for (const char* bytes :
       {"\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x80\xAF", "\xED\xA0\x80", "\xF0\x80\x80\xAF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x82", "\xFF", "\xE2(\xA1"}) {
    EXPECT_EQ(error_of("a: 1\nb: "s + bytes + "\n"), "c.yaml:2: the text is not UTF-8");
  }
  for (const char* text : {"é", "€", "𝄞", "\xF4\x8F\xBF\xBF", "\xED\x9F\xBF", "\xEE\x80\x80"}) {
    EXPECT_EQ(read_yaml("a: \""s + text + "\"", "c").find("a")->text, text);
  }
}

TEST(YamlReader, LimitsDepthAndSize) {
  const auto nested = [](int levels) {
    return "a: " + std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_EQ(error_of(nested(15)), "no error");
  EXPECT_EQ(error_of(nested(16)), "c.yaml:1: a: nested too deeply (expected at most 16 levels)");
  EXPECT_EQ(error_of(nested(100000)),
            "c.yaml:1: a: nested too deeply (expected at most 16 levels)");
  std::string large = "a: \"";
  large.resize((1 << 20) - 1, 'x');
  EXPECT_EQ(error_of(large + "\""), "no error");
  EXPECT_EQ(error_of(large + "x\""),
            "c.yaml: the text is too long (expected at most 1048576 bytes, got 1048577)");
}

TEST(YamlReader, SyntaxErrorsHaveALineAndAReason) {
  EXPECT_EQ(error_of("a: 1\nb: [1, 2\n"),
            "c.yaml:3: not valid YAML: end of sequence flow not found");
  EXPECT_EQ(error_of("a: 1\nb: c: d\n"), "c.yaml:2: not valid YAML: illegal map value");
  EXPECT_EQ(error_of("a: 1\n]\n").substr(0, 7), "c.yaml:");
  EXPECT_EQ(error_of("a: @x\n").substr(0, 26), "c.yaml:1: not valid YAML: ");
}

TEST(YamlReader, QuotesMustBeClosed) {
  EXPECT_EQ(error_of("b: 1\na: \"open\n"), "c.yaml:2: a: the quote that starts here is not closed");
  EXPECT_EQ(error_of("é: 'é'\na: 'it''s\n"),
            "c.yaml:2: a: the quote that starts here is not closed");
  EXPECT_NE(error_of("a: \"x\\\""), "no error");
  EXPECT_EQ(read_yaml("é: '€'\r\na: 'it''s'\r\n", "c").find("a")->text, "it's");
  EXPECT_EQ(read_yaml("a: \"é\\\\\" # \"", "c").find("a")->text, "é\\");
  EXPECT_EQ(read_yaml("\xEF\xBB\xBF"
                      "a: \"x\"",
                      "c")
                .find("a")
                ->text,
            "x");
  EXPECT_EQ(read_yaml("\"a\": 'b'", "c").find("a")->text, "b");
}

TEST(YamlValue, ReadsOneValue) {
  const auto number = read_yaml_value("1e-3", "--set gamma");
  EXPECT_EQ(number.kind, Kind::scalar);
  EXPECT_EQ(number.text, "1e-3");
  EXPECT_EQ(number.file, "--set gamma");
  EXPECT_EQ(number.line, 0);
  EXPECT_FALSE(number.quoted);
  EXPECT_TRUE(read_yaml_value("'3'", "o").quoted);
  const auto list = read_yaml_value("[256, 128]", "o");
  ASSERT_EQ(list.items.size(), 2U);
  EXPECT_EQ(list.items[1].text, "128");
  EXPECT_EQ(list.items[1].line, 0);
  EXPECT_EQ(list.items[1].file, "o");
  const auto map = read_yaml_value("{type: linear, start: [1]}", "o");
  ASSERT_EQ(map.kind, Kind::map);
  EXPECT_EQ(map.find("type")->text, "linear");
  for (const char* text : {"", "  ", "~", "null", " NULL "}) {
    EXPECT_EQ(read_yaml_value(text, "o").kind, Kind::null) << text;
    EXPECT_EQ(read_yaml_value(text, "o").file, "o");
  }
  EXPECT_EQ(read_yaml_value("a=b", "o").text, "a=b");
  EXPECT_EQ(read_yaml_value("data/file one.npz", "o").text, "data/file one.npz");
}

TEST(YamlValue, RefusesWhatIsNotOneValue) {
  EXPECT_EQ(value_error_of("a: 1"),
            "--set x: not one value (expected a value, [a, b] or {key: value}, got {a: 1})");
  EXPECT_EQ(value_error_of("- a"),
            "--set x: not one value (expected a value, [a, b] or {key: value}, got [a])");
  for (const char* text : {"#none", "---", "...", "--- # x"}) {
    EXPECT_EQ(value_error_of(text),
              "--set x: the value would be read as null (got `"s + text + "`; put it in quotes)");
  }
  EXPECT_EQ(value_error_of("%x"),
            "--set x: a line starts with % (YAML directives are not supported)");
  EXPECT_EQ(value_error_of("{a: 1, a: 2}"), "--set x: a: the key is given twice");
  EXPECT_EQ(value_error_of("[1"),
            "--set x: the key is a list (expected a name; is a bracket left open?)");
  EXPECT_EQ(value_error_of("&a 1"), "--set x: anchors are not supported (got `&a`)");
  EXPECT_EQ(value_error_of("1\n---\n2"),
            "--set x: a second document starts here (expected one document)");
}

// Any bytes produce either a tree or one Error{config}, and no other exception.
TEST(YamlReader, SurvivesMutatedInput) {
  const std::string seed_text =
      "algo: td3_bc\nenv_id: Pendulum-v1\nseed: 3\ntags: [a, 'b', \"c\\n\"]\nalgo_kwargs:\n"
      "  hidden_sizes: [256, 256]\n  learning_rate: 3e-4\n  early_stopping: {metric: x, n: ~}\n"
      "dataset_mix:\n  - kind: npz\n    weight: 0.5\n  - kind: csv\ntext: >-\n  folded\n  text\n";
  const std::vector<std::string> pieces = {
      "&a ", "*a",  "!!t ", "!<x>", "? ",   ": ",   "- ",       "---\n", "...\n",    "%TAG\n", "{",
      "}",   "[",   "]",    ",",    "#",    "|\n",  ">",        "'",     "\"",       "\\x0",   "\t",
      "\r",  "\n ", "\0"s,  "\x04", "\xFF", "\xC3", "\xF0\x9F", "<<: ",  "\xEF\xBB", "@",      "`"};
  std::mt19937_64 random(20240607);
  const auto below = [&](size_t bound) { return static_cast<size_t>(random() % bound); };
  int read = 0;
  int refused = 0;
  for (int round = 0; round < 6000; ++round) {
    std::string text = seed_text;
    for (size_t change = 0, changes = 1 + below(5); change < changes; ++change) {
      const size_t at = below(text.size() + 1);
      switch (below(5)) {
        case 0:
          text.insert(at, pieces[below(pieces.size())]);
          break;
        case 1:
          text.erase(at, below(20));
          break;
        case 2:
          if (at < text.size()) text[at] = static_cast<char>(random());
          break;
        case 3:
          text.insert(at, text.substr(below(text.size() + 1), below(40)));
          break;
        default:
          text.resize(at);
      }
    }
    for (const bool as_value : {false, true}) {
      try {
        as_value ? read_yaml_value(text, "f") : read_yaml(text, "f");
        ++read;
      } catch (const Error& error) {
        ASSERT_EQ(error.kind(), ErrorKind::config);
        ASSERT_EQ(std::string(error.what()).find_first_of("\n\r\0"s), std::string::npos);
        ++refused;
      }
    }
  }
  EXPECT_GT(read, 500);
  EXPECT_GT(refused, 500);
}

double number_of(const ConfigNode& node) {
  double value = std::numeric_limits<double>::quiet_NaN();
  const char* end = node.text.data() + node.text.size();
  const auto result = std::from_chars(node.text.data(), end, value);
  EXPECT_TRUE(result.ec == std::errc() && result.ptr == end) << node.text;
  return value;
}

void expect_same(const ConfigNode& node, const Json& json) {
  if (json.is_object()) {
    ASSERT_EQ(node.kind, Kind::map);
    ASSERT_EQ(node.entries.size(), json.size());
    size_t i = 0;
    for (const auto& [key, value] : json.items()) {
      EXPECT_EQ(node.entries[i].first, key);
      expect_same(node.entries[i++].second, value);
    }
  } else if (json.is_array()) {
    ASSERT_EQ(node.kind, Kind::list);
    ASSERT_EQ(node.items.size(), json.size());
    for (size_t i = 0; i < json.size(); ++i) expect_same(node.items[i], json[i]);
  } else if (json.is_null()) {
    EXPECT_EQ(node.kind, Kind::null);
  } else if (json.is_string()) {
    ASSERT_EQ(node.kind, Kind::scalar);
    EXPECT_EQ(node.text, json.get<std::string>());
  } else {
    ASSERT_EQ(node.kind, Kind::scalar);
    EXPECT_FALSE(node.quoted);
    if (json.is_number_float()) {
      EXPECT_EQ(number_of(node), json.get<double>());
      EXPECT_EQ(std::signbit(number_of(node)), std::signbit(json.get<double>()));
    } else {
      EXPECT_EQ(node.text, json.dump());
    }
  }
}

TEST(YamlWriter, IsReadable) {
  Json config;
  config["algo"] = "td3_bc";
  config["gamma"] = 0.99;
  config["whole"] = 1.0;
  config["seed"] = 7;
  config["path"] = "/data/my file.npz";
  config["target"] = nullptr;
  config["algo_kwargs"]["hidden_sizes"] = {256, 256};
  config["algo_kwargs"]["early_stopping"] = {{"metric", "eval_return_mean"}, {"on", true}};
  config["env_kwargs"] = Json::object();
  config["tags"] = {"a", "1", "b c"};
  config["dataset_mix"] = Json::array({{{"kind", "npz"}, {"weight", 0.5}}, {{"kind", "csv"}}});
  EXPECT_EQ(write_yaml(config),
            "algo: td3_bc\n"
            "gamma: 0.99\n"
            "whole: 1.0\n"
            "seed: 7\n"
            "path: \"/data/my file.npz\"\n"
            "target: null\n"
            "algo_kwargs:\n"
            "  hidden_sizes: [256, 256]\n"
            "  early_stopping:\n"
            "    metric: eval_return_mean\n"
            "    \"on\": true\n"
            "env_kwargs: {}\n"
            "tags: [a, \"1\", \"b c\"]\n"
            "dataset_mix:\n"
            "  - kind: npz\n"
            "    weight: 0.5\n"
            "  - kind: csv\n");
}

TEST(YamlWriter, ReadsBackTheSame) {
  const std::vector<std::string> texts = {
      "",         "~",           "null",   "Null", "true",  "False",  "yes",        "NO",
      "on",       "y",           "n",      "3",    "-1",    "1e6",    ".5",         ".inf",
      "nan",      "Inf",         "0x1F",   "a: b", "a #b",  "#a",     "- a",        "-",
      "?",        ":",           "@x",     "%x",   "&a",    "*a",     "!t",         "[a]",
      "{a}",      "a,b",         " a",     "a ",   "\"",    "'",      "\\",         "a\nb",
      "a\tb",     "\r\n",        "é€𝄞",    "---",  "...",   "<<",     "=",          "`",
      "|",        ">",           "\b\x1b", "\x7f", "a/b.c", "/abs-x", "2024-01-01", "12:30:00",
      "\xC2\x85", "\xE2\x80\xA8"};
  Json config = Json::object();
  for (const auto& text : texts) {
    config["list"].push_back(text);
    config["map"][text.empty() ? "empty" : "k" + text] = text;
  }
  std::mt19937_64 random(5);
  for (int i = 0; i < 2000; ++i) {
    const uint64_t bits = random();
    double value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    if (std::isfinite(value)) config["doubles"].push_back(value);
  }
  for (const double value : {0.0, -0.0, 1.0, -3.0, 1e5, 1e22, 1e-5, 3e-4, 0.1, 5e-324, 1e15, 1e16,
                             1e17, std::numeric_limits<double>::max(), 2.0 / 3}) {
    config["doubles"].push_back(value);
    config["one"] = value;
  }
  config["integers"] = {0, -1, std::numeric_limits<int64_t>::min(),
                        std::numeric_limits<uint64_t>::max()};
  config["flags"] = {true, false, nullptr};
  config["nested"] = Json::parse(
      R"([[1, [2, []], {}], [{"a": [{"b": null, "c": [1]}, 3]}, []], {"x": {"y": {}}}])");
  const auto text = write_yaml(config);
  ASSERT_NO_THROW(expect_same(read_yaml(text, "f"), config)) << text.substr(0, 3000);
}

TEST(YamlWriter, WholeDoublesStayDoubles) {
  EXPECT_EQ(write_yaml(Json{{"a", 2.0}, {"b", -0.0}, {"c", 1e300}, {"d", 3}}),
            "a: 2.0\nb: -0.0\nc: 1e+300\nd: 3\n");
}

}  // namespace
}  // namespace rl_training::test_yaml
