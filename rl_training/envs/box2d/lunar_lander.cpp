#include "rl_training/envs/box2d/lunar_lander.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <optional>

#include "rl_training/envs/box2d/lander_world.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

// The continuous action {main, side} that corresponds to each discrete action. Every reset performs
// action 0.
constexpr std::array<std::array<double, 2>, 4> kLanderChoices = {{{0, 0}, {0, -1}, {1, 0}, {0, 1}}};

// The start of an episode and its actions so far. Together they determine the state.
struct Episode {
  LanderStart start;
  bool placed = false;          // created by set_state, which performs no initial step
  std::vector<double> actions;  // {main, side} for each step

  std::string bytes() const {
    std::string text(sizeof(start) + 1, '\0');
    std::memcpy(text.data(), &start, sizeof(start));
    text.back() = placed ? 1 : 0;
    text.append(reinterpret_cast<const char*>(actions.data()), actions.size() * sizeof(double));
    return text;
  }
  static Episode from_bytes(const std::string& text) {
    constexpr size_t kHead = sizeof(LanderStart) + 1;
    if (text.size() < kHead || (text.size() - kHead) % (2 * sizeof(double)) != 0) {
      throw Error(ErrorKind::checkpoint, {"", 0, "episode"},
                  "not a saved episode of a lunar lander");
    }
    Episode episode;
    std::memcpy(&episode.start, text.data(), sizeof(LanderStart));
    episode.placed = text[kHead - 1] != 0;
    episode.actions.resize((text.size() - kHead) / sizeof(double));
    std::memcpy(episode.actions.data(), text.data() + kHead, text.size() - kHead);
    return episode;
  }
};
static_assert(std::is_trivially_copyable_v<LanderStart>);
// LanderStart must not contain padding, because its bytes are compared.
static_assert(sizeof(LanderStart) == 33 * sizeof(double));

class LunarLander final : public Environment {
 public:
  LunarLander(LanderEngines engines, const char* summary);

  const EnvSpec& spec() const override { return spec_; }
  void visit_options(OptionVisitor& options) override {
    options.number("gravity", options_.gravity, between(-12, 0), "in m/s^2, upward");
    options.flag("enable_wind", options_.enable_wind,
                 "apply wind to the lander until a leg touches the ground");
    options.number("wind_power", options_.wind_power, between(0, 20), "largest force of the wind");
    options.number("turbulence_power", options_.turbulence_power, between(0, 2),
                   "largest torque of the wind");
  }
  void reset(Rng& rng, std::span<double> obs) override;
  StepResult step(std::span<const double> action, std::span<double> obs) override;
  std::vector<double> state() const override;
  void set_state(std::span<const double> state) override;
  void observe(std::span<double> obs) const override;
  void visit_state(StateVisitor& state) override;
  Scene scene() const override;

 private:
  using Numbers = std::array<double, 8>;

  void begin(Episode episode);
  StepResult fire(std::span<const double> engines, std::span<double> obs);
  StepResult advance(std::span<const double> engines);
  Numbers numbers() const;
  static double shaping(const Numbers& now);

  EnvSpec spec_;
  LanderOptions options_;
  Episode episode_;
  std::unique_ptr<LanderWorld> world_;
  std::optional<double> last_shaping_;
};

LunarLander::LunarLander(LanderEngines engines, const char* summary) {
  constexpr double kTurns = 2 * std::numbers::pi;
  spec_.id = lunar_lander_id(engines);
  spec_.observation =
      Space::box({-2.5, -2.5, -10, -10, -kTurns, -10, 0, 0}, {2.5, 2.5, 10, 10, kTurns, 10, 1, 1});
  spec_.action = engines == LanderEngines::discrete ? Space::discrete(kLanderChoices.size())
                                                    : Space::box({-1, -1}, {1, 1});
  spec_.max_episode_steps = 1000;
  spec_.summary = summary;
  Rng rng(0);
  begin({random_lander_start(rng), false, {}});
}

void LunarLander::begin(Episode episode) {
  episode_ = std::move(episode);
  world_ = std::make_unique<LanderWorld>(episode_.start, options_);
  last_shaping_.reset();
  if (episode_.placed) last_shaping_ = shaping(numbers());
}

void LunarLander::reset(Rng& rng, std::span<double> obs) {
  begin({random_lander_start(rng), false, {}});
  fire(kLanderChoices[0], obs);  // as in Gymnasium, so that the initial push takes effect
}

StepResult LunarLander::step(std::span<const double> action, std::span<double> obs) {
  if (!spec_.action.is_discrete()) return fire(action, obs);
  return fire(kLanderChoices.at(static_cast<size_t>(action[0])), obs);
}

StepResult LunarLander::fire(std::span<const double> engines, std::span<double> obs) {
  episode_.actions.insert(episode_.actions.end(), engines.begin(), engines.begin() + 2);
  const StepResult result = advance(engines);
  observe(obs);
  return result;
}

StepResult LunarLander::advance(std::span<const double> engines) {
  world_->step(engines);
  const Numbers now = numbers();
  const double reached = shaping(now);
  StepResult result;
  if (last_shaping_) result.reward = reached - *last_shaping_;
  last_shaping_ = reached;
  result.reward -= 0.3 * world_->main_power() + 0.03 * std::abs(world_->side_power());
  if (world_->crashed() || std::abs(now[0]) >= 1) {
    result.terminated = true;
    result.reward = -100;
  }
  if (world_->asleep()) {
    result.terminated = true;
    result.reward = 100;
  }
  return result;
}

LunarLander::Numbers LunarLander::numbers() const {
  const BodyPose hull = world_->pose(0);
  constexpr double kHalfWidth = kLanderWidth / 2, kHalfHeight = kLanderHeight / 2;
  return {(hull.x - kHalfWidth) / kHalfWidth,
          (hull.y - (kPadHeight + kLegDown)) / kHalfHeight,
          hull.speed_x * kHalfWidth / kLanderFrames,
          hull.speed_y * kHalfHeight / kLanderFrames,
          hull.angle,
          20 * hull.turn / kLanderFrames,
          world_->leg_touches(0) ? 1.0 : 0.0,
          world_->leg_touches(1) ? 1.0 : 0.0};
}

double LunarLander::shaping(const Numbers& now) {
  return -100 * std::sqrt(now[0] * now[0] + now[1] * now[1]) -
         100 * std::sqrt(now[2] * now[2] + now[3] * now[3]) - 100 * std::abs(now[4]) + 10 * now[6] +
         10 * now[7];
}

// Poses of the bodies, then the terrain heights. The state is approximate because Box2D's contact
// state is missing.
std::vector<double> LunarLander::state() const {
  std::vector<double> all;
  for (int body = 0; body < 3; ++body) {
    const BodyPose pose = world_->pose(body);
    all.insert(all.end(), {pose.x, pose.y, pose.angle, pose.speed_x, pose.speed_y, pose.turn});
  }
  all.insert(all.end(), episode_.start.heights.begin(), episode_.start.heights.end());
  return all;
}

void LunarLander::set_state(std::span<const double> state) {
  Episode episode;
  LanderStart& start = episode.start;
  if (state.size() != 18 + start.heights.size()) {
    throw Error(ErrorKind::internal, spec_.id + ": the state is three bodies and the terrain");
  }
  start = {};
  for (size_t i = 0; i < 3; ++i) {
    const auto pose = state.subspan(6 * i, 6);
    start.bodies[i] = {pose[0], pose[1], pose[2], pose[3], pose[4], pose[5]};
  }
  std::copy(state.begin() + 18, state.end(), start.heights.begin());
  episode.placed = true;
  begin(std::move(episode));
}

void LunarLander::observe(std::span<double> obs) const {
  const Numbers now = numbers();
  for (size_t i = 0; i < now.size(); ++i) obs[i] = static_cast<float>(now[i]);
}

void LunarLander::visit_state(StateVisitor& state) {
  const std::string present = episode_.bytes();
  std::string bytes = present;
  state.text("episode", bytes);
  if (bytes == present) return;  // nothing was loaded, or an equal state was loaded
  begin(Episode::from_bytes(bytes));
  for (size_t i = 0; i < episode_.actions.size(); i += 2) {
    advance(std::span(episode_.actions).subspan(i, 2));
  }
}

Scene LunarLander::scene() const {
  const Color sky = {0.09, 0.1, 0.16}, ground = {0.78, 0.77, 0.74}, flag = {0.95, 0.75, 0.2};
  const Color hull = {0.55, 0.47, 0.9}, leg = {0.42, 0.36, 0.72}, flame = {1, 0.6, 0.2};
  Scene scene{{0, 0}, {kLanderWidth, 1.25 * kLanderHeight}, {}};
  scene.shapes.push_back(
      {{{0, 0}, {kLanderWidth, 0}, {kLanderWidth, 2 * kLanderHeight}, {0, 2 * kLanderHeight}},
       sky});
  Shape terrain{{{0, -1}}, ground};
  for (int i = 0; i < kLanderPoints; ++i) {
    terrain.points.push_back(
        {kLanderWidth / (kLanderPoints - 1) * i, world_->terrain()[static_cast<size_t>(i)]});
  }
  terrain.points.push_back({kLanderWidth, -1});
  scene.shapes.push_back(terrain);
  for (const double x : {0.4 * kLanderWidth, 0.6 * kLanderWidth}) {
    const double top = kPadHeight + 1.6;
    scene.shapes.push_back({{{x, kPadHeight}, {x, top}}, {1, 1, 1}, 0.05});
    scene.shapes.push_back({{{x, top}, {x, top - 0.4}, {x + 0.8, top - 0.2}}, flag});
  }
  const auto at = [&](const b2Body& body, double x, double y) {
    const b2Vec2 point = body.GetWorldPoint({static_cast<float>(x), static_cast<float>(y)});
    return Point{point.x, point.y};
  };
  const b2Body& craft = *world_->bodies()[0];
  if (const double power = world_->main_power(); power > 0) {
    scene.shapes.push_back(
        {{at(craft, -0.2, -0.3), at(craft, 0.2, -0.3), at(craft, 0, -0.5 - power)}, flame});
  }
  if (const double power = world_->side_power(); power != 0) {
    const double away = power > 0 ? -0.5 : 0.5;
    scene.shapes.push_back({{at(craft, away, 0.55), at(craft, away, 0.35),
                             at(craft, away * (1 + 1.2 * std::abs(power)), 0.45)},
                            flame});
  }
  for (const size_t body : {1, 2, 0}) {
    const b2Body& part = *world_->bodies()[body];
    const auto& polygon = static_cast<const b2PolygonShape&>(*part.GetFixtureList()->GetShape());
    Shape shape{{}, body == 0 ? hull : leg};
    for (int i = 0; i < polygon.m_count; ++i) {
      shape.points.push_back(at(part, polygon.m_vertices[i].x, polygon.m_vertices[i].y));
    }
    scene.shapes.push_back(std::move(shape));
  }
  return scene;
}

}  // namespace

std::unique_ptr<Environment> make_lunar_lander(LanderEngines engines, const char* summary) {
  return std::make_unique<LunarLander>(engines, summary);
}

}  // namespace rl_training
