#include <gtest/gtest.h>

#include <limits>

#include "rl_training/util/options.h"

namespace rl_training {
namespace {

struct Stopping {
  std::string metric = "eval_return_mean";
  int64_t patience = 5;
};

// Options of the common types.
struct Options {
  double gamma = 0.99;
  std::optional<double> target;
  int64_t batch_size = 256;
  std::optional<int64_t> max_updates;
  bool normalize = true;
  std::string dataset_path;
  std::string device = "cpu";
  std::vector<int64_t> hidden_sizes = {256, 256};
  std::vector<std::string> tags;
  std::string schedule_type = "constant";
  double schedule_end = 1;
  bool has_stopping = false;
  Stopping stopping;

  void visit_options(OptionVisitor& options) {
    options.number("gamma", gamma, above_up_to(0, 1), "discount");
    options.number("target", target, any_number(), "stop here");
    options.integer("batch_size", batch_size, at_least(1), "rows of a batch");
    options.integer("max_updates", max_updates, at_least(1), "limit");
    options.flag("normalize", normalize, "scale observations");
    options.text("dataset_path", dataset_path, "file");
    options.choice("device", device, {"cpu", "cuda", "auto"}, "where to compute");
    options.integers("hidden_sizes", hidden_sizes, between(1, 4096), "layers");
    options.texts("tags", tags, "labels");
    options.group(
        "schedule", "learning rate",
        [this](OptionVisitor& inner) {
          inner.choice("type", schedule_type, {"constant", "linear"}, "shape");
          inner.number("end", schedule_end, at_least(0), "last factor");
        },
        nullptr, "type");
    options.group(
        "early_stopping", "stop when nothing improves",
        [this](OptionVisitor& inner) {
          inner.text("metric", stopping.metric, "what is watched");
          inner.integer("patience", stopping.patience, at_least(1), "evaluations");
        },
        &has_stopping);
  }
};

// Converts JSON to a node that appears to come from line 7 of a config file.
ConfigNode node_of(const Json& json) {
  auto node = ConfigNode::from_json(json, "c.yaml");
  for (auto& [key, value] : node.entries) value.line = 7;
  return node;
}

// Returns a node in which the value of `key` is unquoted text, as in YAML. JSON cannot express such
// a value.
ConfigNode plain(const std::string& key, const std::string& text) {
  auto node = node_of(Json::object());
  auto value = ConfigNode::scalar(text);
  value.file = "c.yaml";
  value.line = 7;
  node.set(key, value);
  return node;
}

Options read(const ConfigNode& node) {
  Options options;
  OptionReader reader(node, "algo_kwargs");
  options.visit_options(reader);
  reader.finish({"env_kwargs.wrappers", "total_timesteps"});
  return options;
}

std::string error_of(const ConfigNode& node) {
  try {
    read(node);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    const std::string text = error.what();
    const std::string place = "c.yaml:7: algo_kwargs.";
    EXPECT_EQ(text.substr(0, place.size()), place);
    return text.substr(std::min(place.size(), text.size()));
  }
  return "no error";
}

std::string error_of(const Json& json) { return error_of(node_of(json)); }

TEST(Range, Text) {
  EXPECT_EQ(any_number().text(), "");
  EXPECT_EQ(above(0).text(), "> 0");
  EXPECT_EQ(at_least(1).text(), ">= 1");
  EXPECT_EQ(between(-1, 1).text(), ">= -1 and <= 1");
  EXPECT_EQ(above_up_to(0, 1).text(), "> 0 and <= 1");
  EXPECT_EQ(strictly_between(0, 0.5).text(), "> 0 and < 0.5");
  EXPECT_EQ(at_least(1e-8).text(), ">= 1e-08");
}

TEST(Range, Contains) {
  EXPECT_TRUE(any_number().contains(-1e300));
  EXPECT_FALSE(above(0).contains(0));
  EXPECT_TRUE(above(0).contains(5e-324));
  EXPECT_TRUE(at_least(1).contains(1));
  EXPECT_FALSE(at_least(1).contains(0.999));
  EXPECT_TRUE(between(0, 1).contains(0) && between(0, 1).contains(1));
  EXPECT_FALSE(between(0, 1).contains(1.001) || between(0, 1).contains(-0.001));
  EXPECT_TRUE(above_up_to(0, 1).contains(1));
  EXPECT_FALSE(above_up_to(0, 1).contains(0));
  EXPECT_FALSE(strictly_between(0, 1).contains(0) || strictly_between(0, 1).contains(1));
}

TEST(OptionReader, AbsentKeysKeepTheirDefaults) {
  const auto options = read(node_of(Json::object()));
  EXPECT_EQ(options.gamma, 0.99);
  EXPECT_FALSE(options.target.has_value());
  EXPECT_EQ(options.batch_size, 256);
  EXPECT_EQ(options.hidden_sizes, (std::vector<int64_t>{256, 256}));
  EXPECT_FALSE(options.has_stopping);
  EXPECT_EQ(read(ConfigNode()).batch_size, 256);  // like `algo_kwargs:` without entries
}

TEST(OptionReader, ReadsEveryType) {
  const auto options = read(node_of({{"gamma", 0.5},
                                     {"target", -3},
                                     {"batch_size", 64},
                                     {"max_updates", 10},
                                     {"normalize", false},
                                     {"dataset_path", "a b.npz"},
                                     {"device", "cuda"},
                                     {"hidden_sizes", {8, 4}},
                                     {"tags", {"x", 3}},
                                     {"schedule", {{"type", "linear"}, {"end", 0.1}}},
                                     {"early_stopping", {{"patience", 2}}}}));
  EXPECT_EQ(options.gamma, 0.5);
  EXPECT_EQ(options.target, -3.0);
  EXPECT_EQ(options.batch_size, 64);
  EXPECT_EQ(options.max_updates, 10);
  EXPECT_FALSE(options.normalize);
  EXPECT_EQ(options.dataset_path, "a b.npz");
  EXPECT_EQ(options.device, "cuda");
  EXPECT_EQ(options.hidden_sizes, (std::vector<int64_t>{8, 4}));
  EXPECT_EQ(options.tags, (std::vector<std::string>{"x", "3"}));
  EXPECT_EQ(options.schedule_type, "linear");
  EXPECT_EQ(options.schedule_end, 0.1);
  EXPECT_TRUE(options.has_stopping);
  EXPECT_EQ(options.stopping.patience, 2);
  EXPECT_EQ(options.stopping.metric, "eval_return_mean");
}

TEST(OptionReader, Numbers) {
  EXPECT_EQ(read(plain("gamma", "1")).gamma, 1);
  EXPECT_EQ(read(plain("gamma", "+5e-1")).gamma, 0.5);
  EXPECT_EQ(read(plain("gamma", ".25")).gamma, 0.25);
  EXPECT_EQ(read(plain("target", "-1E3")).target, -1000);
  const std::string expected = "not a number (expected a number > 0 and <= 1, got ";
  for (const char* text : {"nan", "inf", "-inf", ".nan", ".inf", "Infinity", "1e999", "0.5x", "x",
                           "0x1", "+-1", "--1", "++1", "+", "0,5", "1_000", "true"}) {
    EXPECT_EQ(error_of(plain("gamma", text)), "gamma: " + expected + text + ")");
  }
  EXPECT_EQ(error_of({{"gamma", "0.5"}}), "gamma: " + expected + "\"0.5\")");
  EXPECT_EQ(error_of({{"gamma", nullptr}}), "gamma: " + expected + "nothing)");
  EXPECT_EQ(error_of({{"gamma", {1}}}), "gamma: " + expected + "[1])");
  EXPECT_EQ(error_of({{"gamma", {{"a", 1}}}}), "gamma: " + expected + "{a: 1})");
  EXPECT_EQ(error_of({{"gamma", 0}}),
            "gamma: out of range (expected a number > 0 and <= 1, got 0)");
  EXPECT_EQ(error_of(plain("gamma", "1.0000001")),
            "gamma: out of range (expected a number > 0 and <= 1, got 1.0000001)");
  EXPECT_EQ(error_of({{"target", "x"}}), "target: not a number (expected a number, got \"x\")");
}

TEST(OptionReader, WholeNumbers) {
  EXPECT_EQ(read(plain("batch_size", "1e6")).batch_size, 1000000);
  EXPECT_EQ(read(plain("batch_size", "2.5E2")).batch_size, 250);
  EXPECT_EQ(read(plain("batch_size", "+7")).batch_size, 7);
  EXPECT_EQ(read(plain("batch_size", "9223372036854775807")).batch_size,
            std::numeric_limits<int64_t>::max());
  const std::string expected = "not a whole number (expected a whole number >= 1, got ";
  for (const char* text : {"1.5", "1e-3", "15e-1", "1e30", "9223372036854775808", "nan", "x", "",
                           "+-3", "0x10", "1 2"}) {
    EXPECT_EQ(error_of(plain("batch_size", text)), "batch_size: " + expected + text + ")");
  }
  EXPECT_EQ(error_of({{"batch_size", "3"}}), "batch_size: " + expected + "\"3\")");
  EXPECT_EQ(error_of({{"batch_size", true}}), "batch_size: " + expected + "true)");
  EXPECT_EQ(error_of({{"batch_size", 0}}),
            "batch_size: out of range (expected a whole number >= 1, got 0)");
  EXPECT_EQ(error_of({{"max_updates", -1}}),
            "max_updates: out of range (expected a whole number >= 1, got -1)");
}

TEST(OptionReader, NullEmptiesOptionalFields) {
  Options options;
  options.target = 3;
  options.max_updates = 4;
  options.dataset_path = "x";
  options.tags = {"t"};
  const auto node = node_of({{"target", nullptr},
                             {"max_updates", nullptr},
                             {"dataset_path", nullptr},
                             {"tags", nullptr}});
  OptionReader reader(node, "");
  options.visit_options(reader);
  reader.finish();
  EXPECT_FALSE(options.target.has_value());
  EXPECT_FALSE(options.max_updates.has_value());
  EXPECT_EQ(options.dataset_path, "");
  EXPECT_TRUE(options.tags.empty());
}

// The tables of options print "none" for an optional number without a value, so the reader accepts
// this word.
TEST(OptionReader, NoneEmptiesOptionalNumbers) {
  Options options;
  options.target = 3;
  options.max_updates = 4;
  const auto node = node_of({{"target", "none"}, {"max_updates", "none"}});
  OptionReader reader(node, "");
  options.visit_options(reader);
  reader.finish();
  EXPECT_FALSE(options.target.has_value());
  EXPECT_FALSE(options.max_updates.has_value());
  EXPECT_FALSE(read(node_of({{"early_stopping", "none"}})).has_stopping);
  EXPECT_NE(error_of({{"gamma", "none"}}), "");  // gamma is not optional
}

TEST(OptionReader, Switches) {
  EXPECT_TRUE(read(plain("normalize", "true")).normalize);
  for (const char* text : {"yes", "1", "True", "on"}) {
    EXPECT_EQ(error_of(plain("normalize", text)),
              std::string("normalize: not a switch (expected true or false, got ") + text + ")");
  }
  EXPECT_EQ(error_of({{"normalize", "true"}}),
            "normalize: not a switch (expected true or false, got \"true\")");
}

TEST(OptionReader, TextsAndChoices) {
  EXPECT_EQ(read(plain("dataset_path", "12")).dataset_path, "12");
  EXPECT_EQ(error_of({{"dataset_path", {1, 2}}}),
            "dataset_path: not a text (expected a text, got [1, 2])");
  EXPECT_EQ(error_of({{"device", "cudda"}}),
            "device: unknown choice (expected cpu | cuda | auto, got \"cudda\"; did you mean "
            "`cuda`?)");
  EXPECT_EQ(error_of({{"device", {"cpu"}}}),
            "device: unknown choice (expected cpu | cuda | auto, got [\"cpu\"])");
  EXPECT_EQ(error_of({{"device", nullptr}}),
            "device: unknown choice (expected cpu | cuda | auto, got nothing)");
  EXPECT_EQ(error_of({{"tags", "x"}}), "tags: not a list (expected a list of texts, got \"x\")");
}

TEST(OptionReader, Lists) {
  const std::string expected =
      "hidden_sizes: not a list of whole numbers (expected a list such as [256, 256], each >= 1 "
      "and <= 4096, got ";
  EXPECT_EQ(error_of({{"hidden_sizes", 256}}), expected + "256)");
  EXPECT_EQ(error_of({{"hidden_sizes", Json::array()}}), expected + "[])");
  auto node = node_of({{"hidden_sizes", {256, 0}}});
  node.find("hidden_sizes")->items[1].line = 7;
  EXPECT_EQ(error_of(node),
            "hidden_sizes: out of range (expected a whole number >= 1 and <= 4096, got 0)");
  node = node_of({{"tags", {"a", {1}}}});
  node.find("tags")->items[1].line = 7;
  EXPECT_EQ(error_of(node), "tags: not a text (expected a text, got [1])");
}

TEST(OptionReader, ShorthandGroup) {
  EXPECT_EQ(read(node_of({{"schedule", "linear"}})).schedule_type, "linear");
  EXPECT_EQ(read(node_of({{"schedule", nullptr}})).schedule_type, "constant");
  EXPECT_EQ(error_of({{"schedule", "linaer"}}),
            "schedule.type: unknown choice (expected constant | linear, got \"linaer\"; did you "
            "mean `linear`?)");
  EXPECT_EQ(error_of({{"schedule", {1}}}), "schedule: not a map (expected a map of keys, got [1])");
}

TEST(OptionReader, OptionalGroup) {
  EXPECT_FALSE(read(node_of(Json::object())).has_stopping);
  EXPECT_FALSE(read(node_of({{"early_stopping", nullptr}})).has_stopping);
  EXPECT_TRUE(read(node_of({{"early_stopping", Json::object()}})).has_stopping);
  EXPECT_EQ(error_of({{"early_stopping", 3}}),
            "early_stopping: not a map (expected a map of keys, got 3)");
  auto node = node_of({{"early_stopping", {{"patince", 3}}}});
  node.find("early_stopping")->find("patince")->line = 7;
  EXPECT_EQ(error_of(node), "early_stopping.patince: unknown key (did you mean `patience`?)");
}

TEST(OptionReader, UnknownKeys) {
  EXPECT_EQ(error_of({{"gama", 0.9}}), "gama: unknown key (did you mean `gamma`?)");
  EXPECT_EQ(error_of({{"total_timesteps", 5}}),
            "total_timesteps: unknown key (did you mean `total_timesteps`?)");
  EXPECT_EQ(error_of({{"wrappers", 5}}),
            "wrappers: unknown key (did you mean `env_kwargs.wrappers`?)");
  EXPECT_EQ(error_of({{"wraper", 5}}), "wraper: unknown key (did you mean `env_kwargs.wrappers`?)");
  EXPECT_EQ(error_of({{"something_else_entirely", 5}}),
            "something_else_entirely: unknown key (expected one of gamma, target, batch_size, "
            "max_updates, normalize, dataset_path, device, hidden_sizes, tags, schedule, "
            "early_stopping)");
}

TEST(OptionReader, AcceptedKeysAreKnown) {
  const auto node = node_of({{"algo_kwargs", {{"x", 1}}}, {"gamma", 0.5}});
  OptionReader reader(node, "");
  double gamma = 0;
  reader.number("gamma", gamma, any_number(), "");
  EXPECT_THROW(reader.finish(), Error);
  reader.accept("algo_kwargs");
  EXPECT_NO_THROW(reader.finish());
  EXPECT_EQ(gamma, 0.5);
}

TEST(OptionReader, TheMapItselfMustBeAMap) {
  auto node = ConfigNode::scalar("3");
  node.file = "c.yaml";
  node.line = 2;
  try {
    OptionReader reader(node, "algo_kwargs");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "c.yaml:2: algo_kwargs: not a map (expected a map of keys, got 3)");
  }
}

TEST(WriteOptions, WritesEveryFieldInOrder) {
  Options options;
  options.target = 2;
  options.tags = {"a"};
  const auto visit = [&](OptionVisitor& visitor) { options.visit_options(visitor); };
  EXPECT_EQ(write_options(visit).dump(),
            R"({"gamma":0.99,"target":2.0,"batch_size":256,"max_updates":null,"normalize":true,)"
            R"("dataset_path":"","device":"cpu","hidden_sizes":[256,256],"tags":["a"],)"
            R"("schedule":{"type":"constant","end":1.0},"early_stopping":null})");
  options.has_stopping = true;
  EXPECT_EQ(write_options(visit)["early_stopping"].dump(),
            R"({"metric":"eval_return_mean","patience":5})");
}

TEST(WriteOptions, ReadsBackTheSame) {
  Options options;
  options.gamma = 1.0 / 3;
  options.max_updates = std::numeric_limits<int64_t>::max();
  options.dataset_path = "12";
  options.has_stopping = true;
  options.stopping.patience = 9;
  const auto written =
      write_options([&](OptionVisitor& visitor) { options.visit_options(visitor); });
  auto back = read(node_of(written));
  EXPECT_EQ(write_options([&](OptionVisitor& visitor) { back.visit_options(visitor); }), written);
}

TEST(ListOptions, OneRowForEachField) {
  Options options;
  options.tags = {"a"};
  const auto rows = list_options([&](OptionVisitor& visitor) { options.visit_options(visitor); });
  std::string table;
  for (const auto& row : rows) {
    table += row.key + ";" + row.type + ";" + row.default_value + ";" + row.range + ";" +
             row.meaning + "\n";
  }
  EXPECT_EQ(table,
            "gamma;number;0.99;> 0 and <= 1;discount\n"
            "target;number;none;;stop here\n"
            "batch_size;whole number;256;>= 1;rows of a batch\n"
            "max_updates;whole number;none;>= 1;limit\n"
            "normalize;switch;true;true | false;scale observations\n"
            "dataset_path;text;none;;file\n"
            "device;choice;cpu;cpu | cuda | auto;where to compute\n"
            "hidden_sizes;whole numbers;[256,256];>= 1 and <= 4096;layers\n"
            "tags;texts;[\"a\"];;labels\n"
            "schedule;map or its `type`;;;learning rate\n"
            "schedule.type;choice;constant;constant | linear;shape\n"
            "schedule.end;number;1.0;>= 0;last factor\n"
            "early_stopping;map;none;;stop when nothing improves\n"
            "early_stopping.metric;text;eval_return_mean;;what is watched\n"
            "early_stopping.patience;whole number;5;>= 1;evaluations\n");
}

}  // namespace
}  // namespace rl_training
