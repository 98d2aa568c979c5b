#pragma once
// Includes the whole public interface of the library.
#include "rl_training/algorithms/registry.h"
#include "rl_training/api/agent.h"
#include "rl_training/api/agents.h"
#include "rl_training/data/dataset_builder.h"
#include "rl_training/envs/environment.h"
#include "rl_training/envs/registry.h"
#include "rl_training/envs/rollout.h"
#include "rl_training/experiment/dataset_source.h"
#include "rl_training/runtime/callbacks.h"
#include "rl_training/runtime/schedule.h"
