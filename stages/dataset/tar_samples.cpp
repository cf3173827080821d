#include "stages/dataset/tar_samples.hpp"

#include <cstddef>
#include <seam/error.hpp>
#include <unordered_set>
#include <utility>

#include "stages/dataset/in_quotes.hpp"
#include "stages/dataset/picture_extensions.hpp"

namespace seam::stages {
namespace {

class Grouping {
 public:
  Grouping(const std::string& tar, const std::set<std::string>& extensions)
      : tar_(tar), extensions_(extensions) {}

  void add(TarMember member) {
    const std::string& name = member.name;
    const std::size_t base = name.rfind('/') + 1;  // npos + 1 is 0
    const std::size_t dot = name.find('.', base);
    const bool meta = base == 0 && name.starts_with("__") && name.ends_with("__");
    if (dot == std::string::npos || dot == base || meta) return;
    std::string key = name.substr(0, dot);
    std::string ending = lower(name.substr(dot + 1));
    if (endings_.empty() || key != sample_.key) begin(std::move(key), name);
    if (!endings_.insert(ending).second) {
      fail("has two members ending in '" + ending + "', the second of them " + in_quotes(name));
    }
    if (extensions_.contains(ending)) {
      if (!sample_.picture.name.empty()) {
        fail("has several pictures, " + in_quotes(sample_.picture.name) + " and " +
             in_quotes(name) + "; set 'extensions' to that of one of them");
      }
      sample_.picture = std::move(member);
    } else if (ending == "cls") {
      sample_.cls = std::move(member);
    } else if (ending == "json") {
      sample_.json = std::move(member);
    }
  }

  std::vector<TarSample> end() {
    close();
    return std::move(samples_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(tar_ + ": sample " + in_quotes(sample_.key) + " " + what);
  }

  void begin(std::string key, const std::string& name) {
    close();
    sample_ = {};
    sample_.key = std::move(key);
    if (!keys_.insert(sample_.key).second) {
      fail("is in two parts of the tar, the second of them at " + in_quotes(name) +
           "; the members of a sample must follow each other: pack them in the order of their "
           "names, with tar --sort=name");
    }
  }

  void close() {
    if (endings_.empty()) return;
    if (sample_.picture.name.empty()) {
      std::string found;
      for (const std::string& ending : endings_)
        found += (found.empty() ? "'" : ", '") + ending + "'";
      fail("has no picture, but " + found + "; pictures end in one of 'extensions'");
    }
    endings_.clear();
    samples_.push_back(std::move(sample_));
  }

  const std::string& tar_;
  const std::set<std::string>& extensions_;
  TarSample sample_;
  std::set<std::string> endings_;  // of the sample's members; empty: no sample yet
  std::unordered_set<std::string> keys_;
  std::vector<TarSample> samples_;
};

}  // namespace

std::vector<TarSample> read_samples(const std::shared_ptr<const OpenFile>& tar,
                                    const std::set<std::string>& extensions) {
  TarReader reader(tar);
  Grouping grouping(tar->name(), extensions);
  while (auto member = reader.next()) grouping.add(*std::move(member));
  return grouping.end();
}

}  // namespace seam::stages
