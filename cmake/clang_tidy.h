// Included before all other headers when clang-tidy reads the code. LibTorch 1.13 declares vectors
// whose element type is still incomplete. In C++20 the destructor of a vector is constexpr, so
// clang instantiates it too early, before the element type is complete. This header includes
// <vector> without constexpr. While <vector> is read, __fill_a1 is renamed, because an earlier
// header has already declared it constexpr.
#include <algorithm>
#include <string>
#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR
#define __fill_a1 __fill_bits
#include <vector>
#undef __fill_a1
#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR constexpr
