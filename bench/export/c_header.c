/* Measures how long an exported policy takes to compute one action, for `make bench-export`.
 *   c_header OBS_FILE ACTIONS_FILE */
#include <stdio.h>
#include <time.h>

#include "policy.h"

#define ROWS 1000

static float obs[ROWS][POLICY_OBS_DIM], actions[ROWS][POLICY_ACTION_DIM];

static double microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
  double best = 1e9;
  unsigned state = 1;
  int row, i, round;
  FILE *file;
  if (argc != 3) return 2;
  if (!(policy_self_test() <= 1e-5f)) return 3;
  for (row = 0; row < ROWS; ++row) {
    for (i = 0; i < POLICY_OBS_DIM; ++i) {
      state = state * 1664525u + 1013904223u;
      obs[row][i] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
  }
  for (round = 0; round < 50; ++round) {
    const double start = microseconds();
    for (row = 0; row < ROWS; ++row) policy_act(obs[row], actions[row]);
    const double passed = (microseconds() - start) / ROWS;
    if (passed < best) best = passed;
  }
  file = fopen(argv[1], "wb");
  if (!file || fwrite(obs, sizeof obs, 1, file) != 1 || fclose(file)) return 4;
  file = fopen(argv[2], "wb");
  if (!file || fwrite(actions, sizeof actions, 1, file) != 1 || fclose(file)) return 4;
  printf("%.2f\n", best);
  return 0;
}
