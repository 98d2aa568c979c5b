#pragma once
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace rl_training {

// A key-value store in process 0. The processes of a run use it to find each other. get() waits
// until the key has been set, and throws Error{io} after the time-out. set() throws Error{io} if
// process 0 cannot be reached.
class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  virtual void set(const std::string& key, const std::string& value) = 0;
  virtual std::string get(const std::string& key) = 0;
  // Address at which the other processes reach this machine.
  virtual std::string local_address() const = 0;
};

using Milliseconds = std::chrono::milliseconds;

// The store in process 0. Listens only on the address that is passed to the constructor, which
// throws Error{config} for wildcard addresses such as 0.0.0.0. Connections are not authenticated.
class RendezvousServer final : public Rendezvous {
 public:
  // Port 0 selects a free port.
  RendezvousServer(const std::string& address, int port, Milliseconds timeout);
  ~RendezvousServer() override;

  int port() const { return port_; }
  void set(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key) override;
  std::string local_address() const override { return address_; }

 private:
  void accept_all();
  void serve(int connection);

  Milliseconds timeout_;
  std::string address_;
  int listener_ = -1, port_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
  bool ending_ = false;
  std::vector<int> connections_;
  std::vector<std::thread> threads_;  // first the accepting thread, then one per connection
};

// Gives the processes other than process 0 access to the store. Process 0 may start later, within
// the time-out.
class RendezvousClient final : public Rendezvous {
 public:
  RendezvousClient(const std::string& address, int port, Milliseconds timeout);
  ~RendezvousClient() override;

  void set(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key) override;
  std::string local_address() const override;

 private:
  std::string place_;  // address and port, for error messages
  int connection_ = -1;
};

}  // namespace rl_training
