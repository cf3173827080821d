#include "conformance_trial.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace seam::testing::checks {
namespace {

/// Removes the fields that the stage does not declare as read, and sets the origin. Adds the names
/// of removed fields to `taken_away`.
Packet prepared(Packet packet, std::size_t number, const Description& description,
                Names& taken_away) {
  std::vector<std::string_view> surplus;
  for (const Packet::Slot& slot : packet.slots()) {
    const bool read = find_field(description.needs, slot.name) != nullptr ||
                      find_field(description.accepts, slot.name) != nullptr ||
                      std::ranges::find(description.gathers, slot.name, &GatheredField::from) !=
                          description.gathers.end();
    // A stage without needs is not restricted: it passes on whatever it receives.
    if (!read && !description.needs.empty()) surplus.push_back(slot.name);
  }
  for (const std::string_view name : surplus) {
    taken_away.emplace(name);
    packet.erase(name);
  }
  if (packet.origin().item.empty())
    packet.set_origin({nullptr, 0, "packet " + std::to_string(number)});
  return packet;
}

}  // namespace

const FieldInfo* find_field(const std::vector<FieldInfo>& fields, std::string_view name) {
  const auto found = std::ranges::find(fields, name, &FieldInfo::name);
  return found == fields.end() ? nullptr : &*found;
}

const Packet::Slot* find_slot(const Packet& packet, std::string_view name) {
  const auto found = std::ranges::find(packet.slots(), name, &Packet::Slot::name);
  return found == packet.slots().end() ? nullptr : &*found;
}

std::optional<std::string> difference(const Packet& a, const Packet& b) {
  if (!(a.origin() == b.origin())) {
    return "comes from " + a.origin().text() + " and from " + b.origin().text();
  }
  for (const Packet::Slot& slot : a.slots()) {
    const Packet::Slot* other = find_slot(b, slot.name);
    const std::string field = "field '" + std::string(slot.name) + "' ";
    if (other == nullptr) return field + "is present in only one of them";
    if (slot.type->name != other->type->name) return field + "changes its type";
    if (slot.type->equal != nullptr && !slot.type->equal(slot.value.get(), other->value.get())) {
      return field + "has a different value";
    }
  }
  if (a.slots().size() != b.slots().size()) return "has different fields";
  return std::nullopt;
}

RunDirectory::RunDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "seam-trial-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw Error("cannot create a folder " + pattern);
  path_ = pattern;
}

RunDirectory::~RunDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::map<std::string, std::string> RunDirectory::take_files() {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files[entry.path().lexically_relative(path_).string()] =
        std::string(std::istreambuf_iterator<char>(file), {});
  }
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    std::filesystem::remove_all(entry.path());
  }
  return files;
}

Trial::Trial(const Candidate& candidate, bool training, const Example::Parameters& more,
             int threads)
    : harness_(std::make_unique<Harness>(candidate.name, candidate.make())),
      candidate_(candidate),
      training_(training),
      threads_(threads) {
  Example::Parameters parameters = candidate.example.parameters;
  for (const auto& [name, value] : more) parameters[name] = value;
  harness_->runner().configure(parameters);
  harness_->training(training)
      .compute_threads(threads)
      .device(candidate.device)
      .run_directory(directory_.path());
  if (candidate.example.connect) connected_ = candidate.example.connect(*harness_);
}

std::vector<Packet> Trial::packets() {
  std::vector<Packet> packets = candidate_.example.packets ? candidate_.example.packets(*harness_)
                                                           : made_up_packets(description());
  for (std::size_t at = 0; at < packets.size(); ++at) {
    packets[at] = prepared(std::move(packets[at]), at, description(), taken_away_);
    if (candidate_.move_to_device) candidate_.move_to_device(packets[at]);
    for (std::size_t before = 0; before < at;
         ++before) {  // the checks distinguish packets by their origins
      if (!(packets[before].origin() == packets[at].origin())) continue;
      Origin origin = packets[at].origin();
      origin.item += " (packet " + std::to_string(at) + ")";
      packets[at].set_origin(std::move(origin));
    }
  }
  return packets;
}

void Trial::feed(std::size_t most) {
  if (kind() == StageKind::source) {
    harness_->produce(std::min(most, most_from_a_source));
    return;
  }
  std::vector<Packet> some = packets();
  if (some.size() > most) some.resize(most);
  harness_->push_all(std::move(some), threads_);
}

std::vector<bool> modes(const Candidate& candidate) {
  if (candidate.example.training) return {*candidate.example.training};
  const StageRunner runner(candidate.name, candidate.name, candidate.make());
  if (runner.description().trains) return {true};  // the host runs it only in training
  return {false, true};
}

Findings joined(const std::vector<Findings>& of_modes) {
  if (of_modes.size() == 1) return of_modes.front();
  const Findings& evaluation = of_modes.at(0);
  const Findings& training = of_modes.at(1);
  Findings result;
  for (const std::string& finding : evaluation) {
    const bool in_both = std::ranges::find(training, finding) != training.end();
    result.push_back(in_both ? finding : "in evaluation: " + finding);
  }
  for (const std::string& finding : training) {
    const bool in_both = std::ranges::find(evaluation, finding) != evaluation.end();
    if (!in_both) result.push_back("in training: " + finding);
  }
  return result;
}

std::vector<Archive> save(Harness& harness) {
  std::vector<Archive> archives{harness.runner().save()};
  for (const StageRunner* before : harness.upstream()) archives.push_back(before->save());
  return archives;
}

Result take(Harness& harness) {
  Result result;
  for (const Dropped& dropped : harness.drops()) {
    result.rest.push_back(dropped.origin.text() + " is dropped: " + dropped.reason);
  }
  for (const Error& error : harness.errors())
    result.rest.push_back("an error: " + error.full_message());
  const bool parallel = harness.runner().kind() == StageKind::parallel_transform;
  for (const auto& [name, reported] : harness.metrics()) {
    std::vector<double> values = reported;
    if (parallel)
      std::sort(values.begin(), values.end());  // in the order in which threads reported them
    std::string line = "metric '" + name + "':";
    for (const double value : values) line += ' ' + to_text(Value{value});
    result.rest.push_back(std::move(line));
  }
  for (const Report& report : harness.reports()) {
    result.rest.push_back("report '" + report.title + "': " + report.text);
  }
  result.outputs = harness.take_outputs();
  harness.forget();
  return result;
}

std::optional<std::string> difference(const Result& a, const Result& b) {
  if (a.outputs.size() != b.outputs.size()) {
    return "the number of packets that came out was " + std::to_string(a.outputs.size()) +
           ", then " + std::to_string(b.outputs.size());
  }
  for (std::size_t at = 0; at < a.outputs.size(); ++at) {
    if (const auto found = difference(a.outputs[at], b.outputs[at])) {
      return "packet " + std::to_string(at) + " " + *found;
    }
  }
  for (std::size_t at = 0; at < std::max(a.rest.size(), b.rest.size()); ++at) {
    const std::string once = at < a.rest.size() ? a.rest[at] : "nothing";
    const std::string then = at < b.rest.size() ? b.rest[at] : "nothing";
    if (once != then) return "first " + once + "\nthen " + then;
  }
  return std::nullopt;
}

}  // namespace seam::testing::checks
