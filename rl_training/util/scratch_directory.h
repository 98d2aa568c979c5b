#pragma once
#include <string>

namespace rl_training {

// A new directory. The destructor removes it with its contents, unless it is released.
class ScratchDirectory {
 public:
  // Creates the directory in `parent`, or in the directory for temporary files if `parent` is "".
  // Throws Error{io} on failure.
  explicit ScratchDirectory(const std::string& parent = "");
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  void release() { released_ = true; }  // keeps the directory

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
  bool released_ = false;
};

}  // namespace rl_training
