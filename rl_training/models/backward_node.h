#pragma once
#include <torch/csrc/autograd/function.h>

#include <memory>
#include <type_traits>
#include <utility>

namespace rl_training {

// Creates a backward node. The type of the returned pointer depends on the version of LibTorch:
// newer versions use intrusive reference counts.
template <class Node, class... Args>
auto make_backward_node(Args&&... args) {
  if constexpr (std::is_base_of_v<c10::intrusive_ptr_target, Node>) {
    return c10::make_intrusive<Node>(std::forward<Args>(args)...);
  } else {
    return std::shared_ptr<Node>(new Node(std::forward<Args>(args)...),
                                 [](Node* node) { deleteNode(node); });
  }
}

}  // namespace rl_training
