#include "rl_training/models/onednn.h"

#ifdef RL_TRAINING_ONEDNN_FILE
#include <dlfcn.h>

#include "rl_training/util/error.h"
#endif

namespace rl_training {

#ifdef RL_TRAINING_ONEDNN_FILE

// A LibTorch from PyPI contains another version of oneDNN and exports some of its inline functions.
// The dynamic linker would bind calls in the system's oneDNN to these functions, which gives wrong
// products. RTLD_DEEPBIND makes the system's oneDNN prefer its own functions.
static OneDnn load_onednn() {
  void* library = ::dlopen(RL_TRAINING_ONEDNN_FILE, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  const auto find = [&]<class Function>(const char* name, Function& function) {
    void* symbol = library != nullptr ? ::dlsym(library, name) : nullptr;
    if (symbol == nullptr)
      throw Error(ErrorKind::io, {RL_TRAINING_ONEDNN_FILE, 0, ""}, ::dlerror());
    function = reinterpret_cast<Function>(symbol);
  };
  OneDnn found = {};
  find("dnnl_sgemm", found.sgemm);
  find("dnnl_set_max_cpu_isa", found.set_max_cpu_isa);
  find("dnnl_version", found.version);
  return found;
}

const OneDnn& onednn() {
  static const OneDnn found = load_onednn();
  return found;
}

#else

const OneDnn& onednn() {
  static constexpr OneDnn kLinked = {&dnnl_sgemm, &dnnl_set_max_cpu_isa, &dnnl_version};
  return kLinked;
}

#endif

}  // namespace rl_training
