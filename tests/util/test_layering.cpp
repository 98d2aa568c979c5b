#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace {

using Names = std::set<std::string>;

// For each module, the other modules that it may include.
const std::map<std::string, Names> kAllowed = {
    {"util", {}},
    {"data", {"util"}},
    {"envs", {"data", "util"}},
    {"render", {"envs", "data", "util"}},
    {"models", {"util"}},
    {"parallel", {"util"}},
    {"algorithms", {"models", "util"}},
    {"runtime", {"algorithms", "models", "envs", "data", "util"}},
    {"experiment", {"runtime", "algorithms", "models", "envs", "data", "util"}},
    {"selection",
     {"experiment", "runtime", "algorithms", "models", "render", "envs", "data", "util"}},
    {"deploy", {"experiment", "runtime", "algorithms", "models", "envs", "data", "util"}},
    {"report", {"experiment", "runtime", "algorithms", "models", "render", "envs", "data", "util"}},
    {"sweep",
     {"report", "experiment", "runtime", "algorithms", "models", "render", "envs", "data", "util"}},
    {"api", {"report", "experiment", "runtime", "algorithms", "models", "envs", "data", "util"}},
    {"cli",
     {"api", "sweep", "parallel", "report", "deploy", "selection", "experiment", "runtime",
      "algorithms", "models", "render", "envs", "data", "util"}},
};
// For each module, single headers of other modules that it may also include.
const std::map<std::string, Names> kAllowedHeaders = {
    {"algorithms", {"rl_training/data/batch.h"}},
};
const Names kModulesWithoutTorch = {"util", "data", "envs", "render", "parallel"};
// The only file of kModulesWithoutTorch that uses torch. No other file of these modules may include
// this file.
const std::string kTorchBridge = "rl_training/data/batch.h";

bool starts_with_any(const std::string& text, std::initializer_list<const char*> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const char* prefix) { return text.starts_with(prefix); });
}

// Returns the module of a path: "data" for "rl_training/data/batch.h", "api" for the umbrella
// header, "cli" for "cli/main.cpp", and "" for a path outside of the project.
std::string module_of(const std::string& path) {
  if (path.starts_with("cli/")) return "cli";
  const std::string root = "rl_training/";
  if (!path.starts_with(root)) return "";
  const auto slash = path.find('/', root.size());
  return slash == std::string::npos ? "api" : path.substr(root.size(), slash - root.size());
}

// Returns the name in `#include "name"` or `#include <name>`, or "" for any other line.
std::string included_name(const std::string& line) {
  std::istringstream words(line);
  std::string first;
  words >> first;
  if (first == "#") {
    words >> first;
    first = "#" + first;
  }
  if (!first.starts_with("#include")) return "";
  const auto open = line.find_first_of("\"<");
  if (open == std::string::npos) return "";
  const auto close = line.find_first_of("\">", open + 1);
  return close == std::string::npos ? "" : line.substr(open + 1, close - open - 1);
}

std::vector<std::string> wrong_includes(const std::string& path, std::istream& source) {
  const auto module = module_of(path);
  if (!kAllowed.contains(module)) return {path + ": a module this check does not know"};
  std::vector<std::string> problems;
  std::string line;
  for (int number = 1; std::getline(source, line); ++number) {
    const auto name = included_name(line);
    const auto where = path + ":" + std::to_string(number) + ": ";
    const auto other = module_of(name);
    const auto headers = kAllowedHeaders.find(module);
    const bool header_allowed = headers != kAllowedHeaders.end() && headers->second.contains(name);
    if (!other.empty() && other != module && !kAllowed.at(module).contains(other) &&
        !header_allowed) {
      problems.push_back(where + module + " must not include " + name);
    }
    if (kModulesWithoutTorch.contains(module) && path != kTorchBridge &&
        (name == kTorchBridge || starts_with_any(name, {"torch/", "ATen/", "c10/"}))) {
      problems.push_back(where + module + " must do without torch, includes " + name);
    }
  }
  return problems;
}

std::vector<std::string> wrong_includes(const std::string& path, const std::string& text) {
  std::istringstream source(text);
  return wrong_includes(path, source);
}

TEST(Layering, TheCheckSeesAWrongArrow) {
  using List = std::vector<std::string>;
  EXPECT_EQ(
      wrong_includes("rl_training/util/a.h", "#pragma once\n#include \"rl_training/data/b.h\"\n"),
      List{"rl_training/util/a.h:2: util must not include rl_training/data/b.h"});
  EXPECT_EQ(
      wrong_includes("rl_training/algorithms/a.cpp", " # include \"rl_training/data/npz.h\"\n"),
      List{"rl_training/algorithms/a.cpp:1: algorithms must not include rl_training/data/npz.h"});
  EXPECT_EQ(wrong_includes("rl_training/data/a.cpp", "#include <torch/torch.h>\n"),
            List{"rl_training/data/a.cpp:1: data must do without torch, includes torch/torch.h"});
  EXPECT_EQ(
      wrong_includes("rl_training/models/a.cpp", "#include \"rl_training/envs/b.h\"\n").size(), 1U);
  EXPECT_EQ(
      wrong_includes("rl_training/runtime/a.cpp", "#include <rl_training/api/agent.h>\n").size(),
      1U);
  EXPECT_EQ(wrong_includes("rl_training/experiment/a.h", "#include \"cli/main.h\"\n").size(), 1U);
  EXPECT_EQ(wrong_includes("rl_training/experiment/a.h", "#include \"rl_training/rl_training.h\"\n")
                .size(),
            1U);
  EXPECT_EQ(
      wrong_includes("rl_training/experiment/a.h", "#include \"rl_training/report/b.h\"\n").size(),
      1U);
  EXPECT_EQ(wrong_includes("rl_training/new_room/a.h", "").size(), 1U);
}

TEST(Layering, OnlyBatchBringsTorchToTheData) {
  EXPECT_TRUE(wrong_includes(kTorchBridge, "#include <torch/types.h>\n").empty());
  EXPECT_EQ(
      wrong_includes("rl_training/data/a.h", "#include \"rl_training/data/batch.h\"\n").size(), 1U);
  EXPECT_EQ(
      wrong_includes("rl_training/envs/a.h", "#include \"rl_training/data/batch.h\"\n").size(), 1U);
}

TEST(Layering, TheCheckAcceptsRightArrows) {
  const auto fine = [](const std::string& path, const std::string& header) {
    return wrong_includes(path, "#include \"" + header + "\"\n").empty();
  };
  EXPECT_TRUE(fine("rl_training/util/a.cpp", "rl_training/util/a.h"));
  EXPECT_TRUE(fine("rl_training/algorithms/a.cpp", "rl_training/data/batch.h"));
  EXPECT_TRUE(fine("rl_training/algorithms/a.cpp", "torch/types.h"));
  EXPECT_TRUE(fine("rl_training/rl_training.h", "rl_training/api/agent.h"));
  EXPECT_TRUE(fine("cli/main.cpp", "rl_training/rl_training.h"));
  EXPECT_TRUE(fine("rl_training/util/a.cpp", "nlohmann/json.hpp"));
  EXPECT_TRUE(
      wrong_includes("rl_training/util/a.cpp", "// #include \"rl_training/api/a.h\"\n").empty());
}

// Detects calls that load code from a file or start a shell.
bool has_forbidden_call(const std::string& text) {
  for (const std::string call : {"torch::load(", "torch::jit", "popen(", "system("}) {
    for (auto at = text.find(call); at != std::string::npos; at = text.find(call, at + 1)) {
      const char before = at == 0 ? ' ' : text[at - 1];
      if (!std::isalnum(static_cast<unsigned char>(before)) && before != '_') return true;
    }
  }
  return false;
}

TEST(Layering, TheCheckSeesForbiddenCalls) {
  for (const char* text :
       {"torch::load(x)", "x = ::system(y);", " popen(z", "auto m = torch::jit::load(f)"}) {
    EXPECT_TRUE(has_forbidden_call(text)) << text;
  }
  EXPECT_FALSE(has_forbidden_call("posix_file_system(), load(x)"));
}

TEST(Layering, ArrowsPointTheRightWay) {
  namespace fs = std::filesystem;
  const fs::path root = SOURCE_DIR;
  int files = 0;
  for (const char* folder : {"rl_training", "cli"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const auto extension = entry.path().extension();
      if (extension != ".h" && extension != ".cpp") continue;
      std::ifstream source(entry.path());
      ASSERT_TRUE(source) << entry.path();
      const auto path = fs::relative(entry.path(), root).generic_string();
      for (const auto& problem : wrong_includes(path, source)) ADD_FAILURE() << problem;
      source.clear();
      source.seekg(0);
      EXPECT_FALSE(has_forbidden_call({std::istreambuf_iterator<char>(source), {}})) << path;
      ++files;
    }
  }
  EXPECT_GT(files, 10);
}

}  // namespace
