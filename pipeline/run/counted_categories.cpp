#include "pipeline/run/counted_categories.hpp"

#include <seam/category_names.hpp>
#include <seam/context.hpp>
#include <seam/error.hpp>
#include <string_view>

namespace seam::host {
namespace {

/// Warnings are left to the run, which opens the data set again.
class CountingServices final : public Services {
 public:
  CountingServices(Display* display, const StopState* stop) : display_(display), stop_(stop) {}

  void log(LogLevel level, std::string_view stage, std::string_view text) override {
    if (display_ != nullptr && level == LogLevel::info) display_->log(level, stage, text);
  }
  void metric(std::string_view /*stage*/, std::string_view /*name*/, double /*value*/) override {}
  void report(std::string_view /*stage*/, std::string_view /*title*/,
              std::string_view /*text*/) override {}
  [[nodiscard]] bool stop_requested() const override {
    return stop_ != nullptr && (stop_->soon || stop_->cancel);
  }

 private:
  Display* display_;  // both may be null, and outlive this object
  const StopState* stop_;
};

}  // namespace

CategoryCount category_count(Display* display, const StopState* stop) {
  return [display, stop](StageRunner& data) -> std::int64_t {
    const auto* const names =
        static_cast<CategoryNames*>(data.interface(type_name<CategoryNames>()));
    if (names == nullptr) return 0;
    CountingServices services(display, stop);
    RunState run;
    run.services = &services;
    try {
      data.open(run);
      const auto count = static_cast<std::int64_t>(names->category_names().size());
      data.close();
      return count;
    } catch (Error& error) {
      error.while_doing("counting the categories for `classes`, which the file does not set");
      throw;
    }
  };
}

}  // namespace seam::host
