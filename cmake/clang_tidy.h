// Included before all other headers when clang-tidy reads the code. LibTorch 1.13 has vectors of a
// type that it defines later. clang instantiates the destructors of these vectors too early,
// because they are constexpr in C++20; this header removes the constexpr. __fill_a1 is renamed
// because it has already been declared constexpr.
#include <algorithm>
#include <string>
#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR
#define __fill_a1 __fill_bits
#include <vector>
#undef __fill_a1
#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR constexpr
