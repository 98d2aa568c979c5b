#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rl_training/experiment/trained_policy.h"
#include "rl_training/models/policy_graph.h"

namespace rl_training {

// An observation and the action that `predict` returns for it. A discrete action is one number.
struct PolicyExample {
  std::vector<double> obs, action;
};

// A policy that maps raw observations to actions in the units of the task, ready to be written in
// another format.
struct ExportedPolicy {
  std::string name;                             // prefix of C functions; name of the ONNX graph
  std::vector<std::string> facts;               // "algorithm: td3_bc", ..., written to the file
  PolicyGraph graph;                            // includes normaliser and action scaling
  std::vector<double> action_low, action_high;  // empty for discrete actions
  // Unit of errors for each action dimension: 1, or half the range of the dimension if that is
  // larger.
  std::vector<double> action_unit;
  std::vector<PolicyExample> examples;  // test vectors, written only to a C header
};

// Throws Error{config} with the reason if the policy is not a function of one observation.
ExportedPolicy export_policy(TrainedPolicy& policy, const std::string& name);

// Result of evaluating a policy graph in double precision.
struct InterpretedPolicy {
  std::vector<double> action;
  // The scores if the policy selects the largest of several scores, otherwise empty. They are
  // divided by the absolute value of the largest score if this absolute value is above 1.
  std::vector<double> scores;
};
// If `choice` is given, selects this index instead of the index of the largest score.
InterpretedPolicy interpret_policy(const PolicyGraph& graph, const std::vector<double>& obs,
                                   std::optional<size_t> choice = {});

// The largest difference between two actions in units of `action_unit`; 1 for different discrete
// actions.
double action_error(const ExportedPolicy& policy, const std::vector<double>& a,
                    const std::vector<double>& b);

}  // namespace rl_training
