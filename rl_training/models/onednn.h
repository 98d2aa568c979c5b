#pragma once
#include <dnnl.h>

namespace rl_training {

// The functions of oneDNN that we call.
struct OneDnn {
  decltype(&dnnl_sgemm) sgemm;
  decltype(&dnnl_set_max_cpu_isa) set_max_cpu_isa;
  decltype(&dnnl_version) version;
};

// Throws Error{io} if the library cannot be loaded.
const OneDnn& onednn();

}  // namespace rl_training
