#pragma once
#include <string>

namespace rl_training {

// A new directory. The destructor removes it with its contents.
class ScratchDirectory {
 public:
  // Creates the directory in `parent`, or in the directory for temporary files if `parent` is "".
  // Throws Error{io} on failure.
  explicit ScratchDirectory(const std::string& parent = "");
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace rl_training
