// Included before everything else when clang-tidy reads our code. LibTorch 1.13 holds vectors of a
// type that it defines later; clang instantiates their destructors too early, because C++20 makes
// them constexpr. Here they are not. The renamed function is declared constexpr before.
#include <algorithm>
#include <string>
#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR
#define __fill_a1 __fill_bits
#include <vector>
#undef __fill_a1
#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR constexpr
