#include "rl_training/envs/mujoco/maze_env.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "rl_training/envs/mujoco/mujoco_task.h"

namespace rl_training {
namespace {

constexpr double kMaxPointSpeed = 5;
constexpr double kCellSpread = 0.25;  // largest offset from the centre of a cell, in edge lengths
constexpr int kAntFrames = 5;

// Raises MuJoCo's limits for constraints and contacts, because an ant in a corner touches several
// boxes.
constexpr ModelEdit kRoom = {"<size njmax=\"150\"/>", "<size njmax=\"1500\" nconmax=\"300\"/>"};
constexpr ModelEdit kAntEdits[] = {kRoom};
constexpr ModelEdit kD4rlAntEdits[] = {
    kRoom,
    {"timestep=\"0.01\"", "timestep=\"0.02\""},
    {"friction=\"1 0.5 0.5\" margin=\"0.01\"/>",
     "friction=\"1 0.5 0.5\" margin=\"0.01\" solref=\"0.02 1\" solimp=\"0.8 0.8 0.01\"/>"},
    {"gear=\"150\"", "gear=\"30\""}};
constexpr ModelEdit kD4rlPointEdits[] = {
    {"<body name=\"point\" pos=\"0 0 0\">", "<body name=\"point\" pos=\"1.2 1.2 0\">"}};

std::span<const ModelEdit> edits_of(const MazeTask& task) {
  if (task.is_ant()) return task.is_d4rl() ? std::span<const ModelEdit>(kD4rlAntEdits) : kAntEdits;
  return task.is_d4rl() ? std::span<const ModelEdit>(kD4rlPointEdits)
                        : std::span<const ModelEdit>();
}

// Adds one box for each wall cell, row by row. The order affects the last bits of contact forces.
std::string maze_model(const MazeTask& task) {
  struct Boxes {
    double z, half_height;
    int contype;
  };
  const bool d4rl_point = task.is_d4rl() && !task.is_ant();
  const Boxes boxes =
      task.is_ant() ? Boxes{1, 1, 1} : Boxes{d4rl_point ? 0 : 0.2, 0.2, d4rl_point ? 2 : 1};
  std::string walls;
  for (const MazeCell& cell : task.map.cells("#")) {
    const Point at = task.wall(cell);
    walls += fmt::format(
        "  <geom type=\"box\" pos=\"{} {} {}\" size=\"{} {} {}\" contype=\"{}\" "
        "conaffinity=\"1\"/>\n",
        at.x, at.y, boxes.z, task.scale() / 2, task.scale() / 2, boxes.half_height, boxes.contype);
  }
  std::string text = edited_mujoco_model(task.is_ant() ? "ant" : "point", edits_of(task));
  return text.insert(text.find("</worldbody>"), walls);
}

MujocoView view_of(const MazeTask& task) {
  const Point first = task.wall({0, 0}),
              last = task.wall({task.map.rows() - 1, task.map.columns() - 1});
  const double half = task.scale() / 2;
  return {true,
          false,
          {std::min(first.x, last.x) - half, std::min(first.y, last.y) - half},
          {std::max(first.x, last.x) + half, std::max(first.y, last.y) + half}};
}

double plane_distance(std::span<const double> a, std::span<const double> b) {
  const double x = a[0] - b[0], y = a[1] - b[1];
  return std::sqrt(x * x + y * y);
}

// A task in a maze. An observation consists of the achieved goal, the desired goal and the body's
// state. This is the order in which Minari flattens Gymnasium's dictionary. D4RL's tasks observe
// only the body's state.
class MazeEnv final : public Environment, public GoalTask {
 public:
  MazeEnv(const MazeTask& task, SharedModel model)
      : task_(task), simulation_(std::move(model), task.id), view_(view_of(task)) {
    spec_.id = task_.id;
    spec_.summary = task_.summary;
    spec_.action = simulation_.action_space();
    spec_.max_episode_steps = task_.max_episode_steps;
    ObsWriter counter;
    write(counter);
    spec_.observation = Space::unbounded(counter.count());
  }

  const EnvSpec& spec() const override { return spec_; }
  void visit_options(OptionVisitor& options) override {
    if (task_.is_d4rl()) return;
    options.flag("continuing_task", continuing_, "episodes continue at the goal");
    options.flag("reset_target", reset_target_,
                 "draw a new goal when one is reached and the episode continues");
  }
  void reset(Rng& rng, std::span<double> obs) override;
  StepResult step(std::span<const double> action, std::span<double> obs) override;
  // The goal, then the positions and velocities of the body.
  std::vector<double> state() const override;
  void set_state(std::span<const double> state) override;
  void observe(std::span<double> obs) const override {
    ObsWriter out(obs.data());
    write(out);
  }
  void visit_state(StateVisitor& state) override {
    const std::array<int64_t, 1> two = {2};
    state.array("goal", DType::f64, two, goal_.data());
    if (reset_target_) state.part("goal_rng", goal_rng_);
    simulation_.visit_state(state, observes_forces());
  }
  Scene scene() const override;

  const GoalTask* goal_task() const override { return task_.is_d4rl() ? nullptr : this; }
  int64_t goal_dim() const override { return 2; }
  int64_t achieved_goal_at() const override { return 0; }
  int64_t desired_goal_at() const override { return 2; }
  double compute_reward(std::span<const double> achieved,
                        std::span<const double> desired) const override {
    if (task_.dense) return std::exp(-plane_distance(achieved, desired));
    return reached(achieved, desired) ? 1 : 0;
  }
  bool compute_terminated(std::span<const double> achieved,
                          std::span<const double> desired) const override {
    return !continuing_ && reached(achieved, desired);
  }
  bool reached(std::span<const double> achieved, std::span<const double> desired) const override {
    return plane_distance(achieved, desired) <= task_.goal_radius();
  }

 private:
  std::span<const double> position() const { return {simulation_.data().qpos, 2}; }
  bool observes_forces() const { return task_.version == 5; }
  void write(ObsWriter& out) const;
  Point draw_center(const std::vector<MazeCell>& cells, BoundedIntegers& integers) const;
  std::array<double, 2> draw_near(Point center, Rng& rng) const;
  void draw_further_goal();
  std::vector<double> draw_gymnasium(Rng& rng);
  std::vector<double> draw_d4rl(Rng& rng);

  const MazeTask& task_;
  Simulation simulation_;
  MujocoView view_;
  EnvSpec spec_;
  bool continuing_ = !(task_.is_d4rl() && task_.is_ant());
  bool reset_target_ = false;
  std::array<double, 2> goal_ = {};
  Rng goal_rng_{0, "goals"};  // draws new goals within an episode; seeded by each reset
};

void MazeEnv::write(ObsWriter& out) const {
  const mjModel& model = simulation_.model();
  const mjData& data = simulation_.data();
  const bool ant = task_.is_ant();
  if (!task_.is_d4rl()) {
    out.values(data.qpos, 2);
    out.values(goal_.data(), 2);
  }
  const int hidden =
      ant && !task_.is_d4rl() ? 2 : 0;  // the position is observed as the achieved goal
  out.values(data.qpos + hidden, model.nq - hidden);
  out.values(data.qvel, model.nv);
  if (observes_forces()) {
    out.clipped(data.cfrc_ext + 6, int64_t{6} * (model.nbody - 1), {-1, 1});
  }
}

Point MazeEnv::draw_center(const std::vector<MazeCell>& cells, BoundedIntegers& integers) const {
  return task_.center(cells[integers.below(static_cast<uint32_t>(cells.size()))]);
}

std::array<double, 2> MazeEnv::draw_near(Point center, Rng& rng) const {
  const double x = center.x + rng.uniform(-kCellSpread, kCellSpread) * task_.scale();
  return {x, center.y + rng.uniform(-kCellSpread, kCellSpread) * task_.scale()};
}

// Draws a goal, then a start at some distance from it. Returns the initial positions and
// velocities.
std::vector<double> MazeEnv::draw_gymnasium(Rng& rng) {
  BoundedIntegers integers(rng);
  goal_ = draw_near(draw_center(task_.map.goals(), integers), rng);
  Point start;
  do {
    start = draw_center(task_.map.resets(), integers);
  } while (plane_distance(std::array{start.x, start.y}, goal_) <= 0.5 * task_.scale());
  const mjModel& model = simulation_.model();
  std::vector<double> state(model.qpos0, model.qpos0 + model.nq);
  const auto place = draw_near(start, rng);
  std::copy(place.begin(), place.end(), state.begin());
  state.resize(state.size() + static_cast<size_t>(model.nv));
  if (reset_target_) goal_rng_ = Rng(rng.next(), "goals");
  return state;
}

void MazeEnv::draw_further_goal() {
  const auto goals = task_.map.goals();
  if (goals.size() < 2) return;
  BoundedIntegers integers(goal_rng_);
  do {
    goal_ = draw_near(draw_center(goals, integers), goal_rng_);
  } while (reached(position(), goal_));
}

std::vector<double> MazeEnv::draw_d4rl(Rng& rng) {
  const mjModel& model = simulation_.model();
  std::vector<double> state(model.qpos0, model.qpos0 + model.nq);
  const Point goal = task_.center(task_.map.goals().front());
  goal_ = {goal.x, goal.y};
  if (task_.is_ant()) {
    for (double& value : goal_) {
      value = std::max(value + rng.uniform() + rng.uniform(0, 0.5), 0.0);
    }
  } else {
    const auto cells = task_.map.cells(".g");
    const Point start = task_.center(cells[rng.below(cells.size())]);
    state[0] = start.x;
    state[1] = start.y;
  }
  for (double& value : state) value += rng.uniform(-0.1, 0.1);
  for (int i = 0; i < model.nv; ++i) state.push_back(0.1 * rng.normal());
  return state;
}

void MazeEnv::reset(Rng& rng, std::span<double> obs) {
  simulation_.set_state(task_.is_d4rl() ? draw_d4rl(rng) : draw_gymnasium(rng));
  observe(obs);
}

StepResult MazeEnv::step(std::span<const double> action, std::span<double> obs) {
  bool good = false;
  if (task_.is_ant()) {
    good = simulation_.step(action, kAntFrames, observes_forces());
  } else {
    mjData& data = simulation_.data();
    const std::array pushes = {std::clamp(action[0], -1.0, 1.0), std::clamp(action[1], -1.0, 1.0)};
    for (int i = 0; i < 2; ++i) {
      data.qvel[i] = std::clamp(data.qvel[i], -kMaxPointSpeed, kMaxPointSpeed);
    }
    // Gymnasium-Robotics makes this call before it sets the new controls. The call changes the
    // solver's warm start, so without it the results would differ from Gymnasium-Robotics.
    mj_forward(&simulation_.model(), &data);
    good = simulation_.step(pushes, 1, false);
  }
  observe(obs);
  if (!good) return {0, true, false};
  const StepResult result = {compute_reward(position(), goal_),
                             compute_terminated(position(), goal_), false};
  // `obs` still contains the old goal. The next observation is the first with the new goal.
  if (reset_target_ && continuing_ && reached(position(), goal_)) draw_further_goal();
  return result;
}

std::vector<double> MazeEnv::state() const {
  std::vector<double> all(goal_.begin(), goal_.end());
  const auto rest = simulation_.state();
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

void MazeEnv::set_state(std::span<const double> state) {
  if (state.size() < goal_.size()) return simulation_.set_state(state);  // always throws
  simulation_.set_state(state.subspan(goal_.size()));
  std::copy_n(state.begin(), goal_.size(), goal_.begin());
}

Scene MazeEnv::scene() const {
  Scene scene = simulation_.scene(view_);
  const double offset = task_.drawing_offset();
  scene.shapes.insert(
      scene.shapes.begin(),
      {{{goal_[0] + offset, goal_[1] + offset}}, {0.35, 0.68, 0.42}, 2 * task_.goal_radius()});
  return scene;
}

}  // namespace

std::function<std::unique_ptr<Environment>()> maze_maker(const MazeTask& task) {
  auto model = compiled_once([&task] {
    auto compiled = compile_mujoco_model(task.id, maze_model(task));
    if (task.is_d4rl() && task.is_ant()) use_old_masses(*compiled, kOldAntMasses);
    return compiled;
  });
  return [&task, model = std::move(model)] { return std::make_unique<MazeEnv>(task, model()); };
}

}  // namespace rl_training
