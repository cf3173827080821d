/// The environment variables of the process, restored at the end of the scope.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace seam::test {

class KeptEnvironment {
 public:
  KeptEnvironment() {
    for (char** entry = ::environ; *entry != nullptr; ++entry) before_.emplace_back(*entry);
  }
  ~KeptEnvironment() {
    ::clearenv();
    for (const std::string& entry : before_) {
      const std::size_t equals = entry.find('=');
      ::setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
    }
  }
  KeptEnvironment(const KeptEnvironment&) = delete;
  KeptEnvironment& operator=(const KeptEnvironment&) = delete;

 private:
  std::vector<std::string> before_;
};

}  // namespace seam::test
