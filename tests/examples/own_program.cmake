# Runs the subcommands of examples/own_program.cpp. Each subcommand must know the environment and the
# algorithm that the program defines.
#   cmake -D PROGRAM=... -D WORK_DIR=... -P own_program.cmake
cmake_minimum_required(VERSION 3.25)

# Runs the program and checks that its output matches `pattern`.
function(expect pattern)
  execute_process(COMMAND ${PROGRAM} ${ARGN} WORKING_DIRECTORY ${WORK_DIR}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed (${result}): ${ARGN}\n${output}${errors}")
  endif()
  if(NOT output MATCHES "${pattern}")
    message(FATAL_ERROR "no ${pattern} in the output of ${ARGN}:\n${output}${errors}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})
file(WRITE ${WORK_DIR}/cart.yaml "algo: linear_bc
env_id: Cart-v0
total_timesteps: 40
threads: 1
eval_episodes: 2
algo_kwargs: {batch_size: 16, dataset_kind: random, dataset_size: 300}
")
expect("linear_bc" algorithms)
expect("Cart-v0" envs)
expect("bc_loss" algorithms linear_bc)
expect("\"update_count\":40" train --config cart.yaml --json)
string(JSON run GET "${output}" run_dir)
expect("\"update_count\":60" resume ${run} --total-timesteps 60 --json)
expect("\"return_mean\"" evaluate ${run} --episodes 2 --json)
expect("\"action\":" predict ${run} --obs "[0.5, 0]")
expect("" render ${run} --output ${WORK_DIR}/cart.gif)
expect("" dataset collect ${WORK_DIR}/cart.npz --policy ${run} --size 100)
expect("linear_bc" report ${run})
