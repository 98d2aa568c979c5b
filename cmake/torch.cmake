# Uses the system's LibTorch, or that of the Python package `torch` (2.6 or newer) if its directory is
# RL_TRAINING_TORCH or if CMAKE_PREFIX_PATH contains torch.utils.cmake_prefix_path. A Python module
# that is built with it shares LibTorch with `import torch`. The package's own CMake files are not
# used: if the package was built with CUDA, they require a CUDA toolkit, although linking does not.
set(RL_TRAINING_TORCH "" CACHE PATH
  "Directory of a Python package torch to build against in place of the system's LibTorch")
foreach(prefix IN LISTS CMAKE_PREFIX_PATH)
  if(NOT RL_TRAINING_TORCH AND EXISTS ${prefix}/Torch/TorchConfig.cmake
      AND EXISTS ${prefix}/../../lib/libtorch_cpu.so)
    get_filename_component(RL_TRAINING_TORCH ${prefix}/../.. REALPATH)
  endif()
endforeach()

# With the system's LibTorch, the system's oneDNN is linked. The LibTorch of a Python package
# contains another version of oneDNN, so the system's oneDNN is loaded at run time instead
# (models/onednn.cpp).
if(NOT RL_TRAINING_TORCH)
  find_package(Torch REQUIRED)
  set(ONEDNN_LIBRARIES dnnl)
  return()
endif()
find_library(ONEDNN_LIBRARY dnnl REQUIRED)
get_filename_component(ONEDNN_FILE ${ONEDNN_LIBRARY} REALPATH)
get_filename_component(ONEDNN_FILE ${ONEDNN_FILE} NAME)
set(ONEDNN_LIBRARIES ${CMAKE_DL_LIBS})
set(ONEDNN_DEFINITIONS RL_TRAINING_ONEDNN_FILE="${ONEDNN_FILE}")

set(config ${RL_TRAINING_TORCH}/share/cmake/Torch/TorchConfig.cmake)
if(NOT EXISTS ${config})
  message(FATAL_ERROR "RL_TRAINING_TORCH: no Python package torch in ${RL_TRAINING_TORCH}")
endif()
file(READ ${config} config_text)
if(config_text MATCHES "_GLIBCXX_USE_CXX11_ABI=0")
  message(FATAL_ERROR "RL_TRAINING_TORCH: built for the old ABI of std::string (expected torch 2.6 or newer)")
endif()
set(TORCH_INCLUDE_DIRS ${RL_TRAINING_TORCH}/include
  ${RL_TRAINING_TORCH}/include/torch/csrc/api/include)
set(TORCH_LIBRARIES ${RL_TRAINING_TORCH}/lib/libtorch_cpu.so ${RL_TRAINING_TORCH}/lib/libc10.so)
set(TORCH_RPATH ${RL_TRAINING_TORCH}/lib)  # CMake omits it if it is below the build directory
# libtorch_cpu.so exports the functions of another version of Gloo. If several libraries export a
# function, the first one that a program is linked with provides it, so the system's Gloo comes first.
if(GLOO_LIBRARY AND GLOO_INCLUDE_DIR)
  list(PREPEND TORCH_LIBRARIES "-Wl,--push-state,--no-as-needed,${GLOO_LIBRARY},--pop-state")
endif()
# The Python package contains the headers of fmt but not its library. The compiler finds these
# headers before the system's, so fmt is used as a header-only library.
if(EXISTS ${RL_TRAINING_TORCH}/include/fmt/format.h)
  set(TORCH_DEFINITIONS FMT_HEADER_ONLY)
endif()
message(STATUS "LibTorch: ${RL_TRAINING_TORCH}")
