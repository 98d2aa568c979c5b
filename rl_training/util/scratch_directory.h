#pragma once
#include <string>

namespace rl_training {

// A new directory that is removed with its contents by the destructor.
class ScratchDirectory {
 public:
  // Created in `parent`, or in the directory for temporary files. Throws Error{io} on failure.
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
