# The serial C library of HDF5, for D4RL, Minari, d3rlpy and robomimic files. Only the files
# rl_training/data/hdf5_* include its header. CMake's own module FindHDF5 is not used, because it
# also links the libraries that HDF5 was built with.
find_path(HDF5_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial REQUIRED)
find_library(HDF5_LIBRARY NAMES hdf5_serial hdf5 REQUIRED)
target_include_directories(rl_training_base SYSTEM PRIVATE ${HDF5_INCLUDE_DIR})
target_link_libraries(rl_training_base PRIVATE ${HDF5_LIBRARY})
