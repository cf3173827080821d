/// Simulates a full disk for this process: files cannot exceed a given size.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace seam::test {

class FullDisk {
 public:
  explicit FullDisk(rlim_t largest_file = 0)
      : handler_(std::signal(SIGXFSZ, SIG_IGN)) {  // write() fails then
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{largest_file, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk& operator=(FullDisk&&) = delete;  // not copyable

 private:
  rlimit before_{};
  void (*handler_)(int);
};

}  // namespace seam::test
