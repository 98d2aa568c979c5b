#pragma once
#include <string>

namespace rl_training {

// A new directory with everything in it, removed when the object ends.
class ScratchDirectory {
 public:
  // In `parent`, or where temporary files go. Error{io} if it cannot be made.
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
