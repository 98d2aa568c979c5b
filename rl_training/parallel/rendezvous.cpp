#include "rl_training/parallel/rendezvous.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "rl_training/util/error.h"
#include "rl_training/util/file_calls.h"

namespace rl_training {
namespace {

using Clock = std::chrono::steady_clock;

// Largest accepted text in bytes. Without this limit, an unknown sender could make this process
// allocate a large amount of memory.
constexpr uint32_t kMaxText = 16 << 20;
enum class Request : char { set = 'S', get = 'G' };

[[noreturn]] void fail(const std::string& place, const std::string& what) {
  throw Error(ErrorKind::io, {place, 0, ""}, what);
}

std::string seconds_text(Milliseconds time) {
  return std::to_string(static_cast<double>(time.count()) / 1000.0).substr(0, 5) + " s";
}

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses resolve(const std::string& address, int port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (code != 0) {
    throw Error(ErrorKind::config, {"", 0, "--master"},
                "no such host: " + address + " (" + ::gai_strerror(code) + ")");
  }
  return {found, &::freeaddrinfo};
}

void refuse_all_interfaces(const addrinfo& info, const std::string& address) {
  bool all = false;
  if (info.ai_family == AF_INET) {
    all = reinterpret_cast<const sockaddr_in*>(info.ai_addr)->sin_addr.s_addr == INADDR_ANY;
  } else if (info.ai_family == AF_INET6) {
    const auto& bytes = reinterpret_cast<const sockaddr_in6*>(info.ai_addr)->sin6_addr;
    all = std::memcmp(&bytes, &in6addr_any, sizeof(bytes)) == 0;
  }
  if (!all) return;
  throw Error(
      ErrorKind::config, {"", 0, "--master"},
      "this address would listen on every interface (expected the address of one interface, got " +
          address + ")");
}

// The numeric local address of a socket.
std::string own_address(int descriptor, int* port = nullptr) {
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  char host[NI_MAXHOST], service[NI_MAXSERV];
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&storage), &length) != 0 ||
      ::getnameinfo(reinterpret_cast<sockaddr*>(&storage), length, host, sizeof(host), service,
                    sizeof(service), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    fail("socket", std::strerror(errno));
  }
  if (port != nullptr) *port = std::stoi(service);
  return host;
}

void set_timeout(int descriptor, Milliseconds timeout) {
  const timeval limit = {timeout.count() / 1000, (timeout.count() % 1000) * 1000};
  ::setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  ::setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

bool send_all(int descriptor, const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const auto sent = retry_interrupted(
        [&] { return ::send(descriptor, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL); });
    if (sent <= 0) return false;
    at += static_cast<size_t>(sent);
  }
  return true;
}

bool receive_all(int descriptor, char* bytes, size_t count) {
  for (size_t at = 0; at < count;) {
    const auto got =
        retry_interrupted([&] { return ::recv(descriptor, bytes + at, count - at, 0); });
    if (got <= 0) return false;
    at += static_cast<size_t>(got);
  }
  return true;
}

// A text preceded by its length.
std::string framed(const std::string& text) {
  const auto size = static_cast<uint32_t>(text.size());
  return std::string(reinterpret_cast<const char*>(&size), sizeof(size)) + text;
}

std::optional<std::string> receive_text(int descriptor) {
  uint32_t size = 0;
  if (!receive_all(descriptor, reinterpret_cast<char*>(&size), sizeof(size)) || size > kMaxText) {
    return std::nullopt;
  }
  std::string text(size, '\0');
  if (!receive_all(descriptor, text.data(), size)) return std::nullopt;
  return text;
}

int listen_at(const addrinfo& info) {
  const int descriptor = ::socket(info.ai_family, info.ai_socktype | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return -1;
  const int yes = 1;
  ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (::bind(descriptor, info.ai_addr, info.ai_addrlen) == 0 && ::listen(descriptor, 1024) == 0) {
    return descriptor;
  }
  const int code = errno;
  ::close(descriptor);
  errno = code;
  return -1;
}

// Returns the connected socket, or -1 if no address accepts the connection.
int connect_to(const addrinfo* info, Milliseconds timeout) {
  for (; info != nullptr; info = info->ai_next) {
    const int descriptor = ::socket(info->ai_family, info->ai_socktype | SOCK_CLOEXEC, 0);
    if (descriptor < 0) continue;
    set_timeout(descriptor, timeout);  // also applies to connect()
    if (::connect(descriptor, info->ai_addr, info->ai_addrlen) == 0) return descriptor;
    ::close(descriptor);
  }
  return -1;
}

}  // namespace

RendezvousServer::RendezvousServer(const std::string& address, int port, Milliseconds timeout)
    : timeout_(timeout) {
  const auto addresses = resolve(address, port);
  refuse_all_interfaces(*addresses, address);
  listener_ = listen_at(*addresses);
  if (listener_ < 0) fail(address + ":" + std::to_string(port), std::strerror(errno));
  address_ = own_address(listener_, &port_);
  threads_.emplace_back([this] { accept_all(); });
}

RendezvousServer::~RendezvousServer() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (const int connection : connections_) ::shutdown(connection, SHUT_RDWR);
  }
  changed_.notify_all();
  ::shutdown(listener_, SHUT_RDWR);  // makes accept() return
  threads_.front().join();           // afterwards no further threads are added
  for (size_t i = 1; i < threads_.size(); ++i) threads_[i].join();
  for (const int connection : connections_) ::close(connection);
  ::close(listener_);
}

void RendezvousServer::accept_all() {
  for (;;) {
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const std::lock_guard lock(mutex_);
    if (ending_) {
      if (connection >= 0) ::close(connection);
      return;
    }
    if (connection < 0) continue;
    set_timeout(connection, timeout_);
    connections_.push_back(connection);
    threads_.emplace_back([this, connection] { serve(connection); });
  }
}

// Answers requests until the other process closes the connection, sends nothing within the
// time-out, or sends an invalid request.
void RendezvousServer::serve(int connection) {
  for (;;) {
    char request = 0;
    if (!receive_all(connection, &request, 1)) return;
    const auto key = receive_text(connection);
    if (!key) return;
    if (static_cast<Request>(request) == Request::set) {
      const auto value = receive_text(connection);
      if (!value) return;
      set(*key, *value);
    } else if (static_cast<Request>(request) == Request::get) {
      try {
        if (!send_all(connection, framed(get(*key)))) return;
      } catch (const Error&) {
        ::shutdown(connection, SHUT_RDWR);
        return;
      }
    } else {
      ::shutdown(connection, SHUT_RDWR);
      return;
    }
  }
}

void RendezvousServer::set(const std::string& key, const std::string& value) {
  {
    const std::lock_guard lock(mutex_);
    values_[key] = value;
  }
  changed_.notify_all();
}

std::string RendezvousServer::get(const std::string& key) {
  std::unique_lock lock(mutex_);
  const bool there =
      changed_.wait_for(lock, timeout_, [&] { return ending_ || values_.contains(key); });
  if (!there || ending_) {
    fail(address_ + ":" + std::to_string(port_),
         "a process of this run did not join within " + seconds_text(timeout_));
  }
  return values_[key];
}

RendezvousClient::RendezvousClient(const std::string& address, int port, Milliseconds timeout)
    : place_(address + ":" + std::to_string(port)) {
  const auto addresses = resolve(address, port);
  const auto deadline = Clock::now() + timeout;
  while ((connection_ = connect_to(addresses.get(), timeout)) < 0) {
    if (Clock::now() >= deadline) {
      fail(place_, "process 0 was not reached within " + seconds_text(timeout) + " (" +
                       std::strerror(errno) + ")");
    }
    std::this_thread::sleep_for(Milliseconds(20));
  }
}

RendezvousClient::~RendezvousClient() { ::close(connection_); }

void RendezvousClient::set(const std::string& key, const std::string& value) {
  const std::string request(1, static_cast<char>(Request::set));
  if (!send_all(connection_, request + framed(key) + framed(value))) {
    fail(place_, "process 0 no longer listens");
  }
}

std::string RendezvousClient::get(const std::string& key) {
  const std::string request(1, static_cast<char>(Request::get));
  std::optional<std::string> answer;
  if (send_all(connection_, request + framed(key))) answer = receive_text(connection_);
  if (!answer) fail(place_, "process 0 has ended, or not all processes joined in time");
  return *answer;
}

std::string RendezvousClient::local_address() const { return own_address(connection_); }

}  // namespace rl_training
