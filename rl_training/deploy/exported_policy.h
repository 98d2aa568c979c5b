#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rl_training/experiment/trained_policy.h"
#include "rl_training/models/policy_graph.h"

namespace rl_training {

// One observation and the action that `predict` gives there; a choice is one number.
struct PolicyExample {
  std::vector<double> obs, action;
};

// A policy from raw observations to actions in the units of the task, ready to be written in
// another format.
struct ExportedPolicy {
  std::string name;                             // prefix of the functions in C, name of the graph
  std::vector<std::string> facts;               // "algorithm: td3_bc", ..., printed into the file
  PolicyGraph graph;                            // normaliser and action scaling inside
  std::vector<double> action_low, action_high;  // empty for choices
  // What errors are measured in: 1, or half the range of an action where that is larger.
  std::vector<double> action_unit;
  std::vector<PolicyExample> examples;  // go into the file as its test vectors
};

// Error{config} with the reason if the policy is no function of one observation.
ExportedPolicy export_policy(TrainedPolicy& policy, const std::string& name);

// The graph computed in double precision.
struct InterpretedPolicy {
  std::vector<double> action;
  // Of a policy that chooses the largest of several scores: these, relative to the size of the
  // largest; empty if nothing is chosen.
  std::vector<double> scores;
};
// With `choice` that one is taken, whatever the scores are.
InterpretedPolicy interpret_policy(const PolicyGraph& graph, const std::vector<double>& obs,
                                   std::optional<size_t> choice = {});

// The largest difference of two actions in their units; 1 for different choices.
double action_error(const ExportedPolicy& policy, const std::vector<double>& a,
                    const std::vector<double>& b);

}  // namespace rl_training
