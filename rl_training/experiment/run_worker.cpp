#include "rl_training/experiment/run_worker.h"

#include "rl_training/experiment/run_shares.h"

namespace rl_training {

RunWorker::RunWorker(const TrainConfig& config, RunData data, RunContext context,
                     const Checkpoint* from)
    : context_(std::move(context)), parts_(config, std::move(data), context_, from) {}

std::unique_ptr<RunWorker> RunWorker::start(const TrainConfig& config, RunContext context,
                                            const std::string& from) {
  auto beginning = load_beginning(config, context, from);
  std::unique_ptr<RunWorker> worker(new RunWorker(config, std::move(beginning.data),
                                                  std::move(context),
                                                  beginning.from ? &*beginning.from : nullptr));
  if (!from.empty()) worker->send_share();
  return worker;
}

std::unique_ptr<RunWorker> RunWorker::resume(RunContext context) {
  const auto orders = Json::parse(context.processes->exchange("").front());
  const auto config = read_train_config(ConfigNode::from_json(orders["config"], "process 0"));
  const auto path = orders["checkpoint"].get<std::string>();
  std::optional<Checkpoint> checkpoint;
  std::optional<EnvSpec> spaces;
  if (!path.empty()) checkpoint = load_checkpoint(context.session.files(), path);
  if (checkpoint && !config.has_environment()) spaces = spaces_of(*checkpoint, config);
  auto data = load_run_data(config, {.warn = context.warn, .spaces = spaces ? &*spaces : nullptr});
  std::unique_ptr<RunWorker> worker(new RunWorker(config, std::move(data), std::move(context)));
  if (checkpoint) {
    worker->parts_.load(*checkpoint,
                        [&](StateVisitor& state) { worker->parts_.visit_state(state); });
  }
  if (orders["save"].get<bool>()) worker->send_share();
  return worker;
}

void RunWorker::send_share() {
  const auto entries = save_state([this](StateVisitor& state) { parts_.visit_state(state); });
  context_.processes->collect(pack_share(entries, parts_.phases->checkpoint_files()));
  const auto directory = context_.processes->exchange("").front();
  if (!directory.empty()) parts_.phases->saved_in(directory);
}

TrainSummary RunWorker::train(StopRequests* requests) {
  const SingleThreadedTensors serial;
  return parts_.trainer->run(*this, {}, requests);
}

}  // namespace rl_training
