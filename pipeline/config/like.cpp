#include "pipeline/config/like.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "pipeline/text/nearest.hpp"

namespace seam::host {
namespace {

class LikeResolver {
 public:
  LikeResolver(Table& stages, Findings& findings) : findings_(findings) {
    for (Entry& stage : stages.entries) {
      stages_.emplace(stage.key, &stage);
      names_.push_back(stage.key);
    }
  }

  void resolve(Entry& first) {
    std::vector<Entry*> chain;  // each is like the next one
    std::set<Entry*> in_chain;
    for (Entry* at = &first; at != nullptr && !resolved_.contains(at); at = other_of(*at)) {
      if (!in_chain.insert(at).second) {
        report_circle(chain, *at);
        break;
      }
      chain.push_back(at);
    }
    for (auto stage = chain.rbegin(); stage != chain.rend(); ++stage) {
      if (Entry* other = other_of(**stage)) take_over(**stage, *other);
      resolved_.insert(*stage);
    }
  }

 private:
  /// The stage that this one is like; null if there is none, or after a report.
  Entry* other_of(Entry& stage) {
    if (stage.node.broken || stage.node.table() == nullptr) return nullptr;
    const Entry* like = stage.node.table()->find("like");
    if (like == nullptr) return nullptr;
    const std::string* name = like->node.text();
    if (like->node.broken) {
      stage.node.broken = true;
      return nullptr;
    }
    if (name == nullptr) {
      refuse(stage, "type", like->node.place,
             fmt::format("'like' of stage '{}' takes the name of a stage, not {}", stage.key,
                         kind_of(like->node)));
      return nullptr;
    }
    const auto other = stages_.find(*name);
    if (other != stages_.end()) return other->second;
    refuse(stage, "unknown-stage", like->node.place,
           fmt::format("there is no stage '{}', which 'like' of '{}' refers to", *name, stage.key),
           {did_you_mean(*name, names_), "stages of this file: " + enumerated(names_)});
    return nullptr;
  }

  void refuse(Entry& stage, std::string code, const Place& place, std::string message,
              std::vector<std::string> notes = {}) {
    findings_.error(std::move(code), place, std::move(message), std::move(notes));
    stage.node.broken = true;
  }

  void report_circle(const std::vector<Entry*>& chain, Entry& first) {
    std::vector<std::string> circle;
    const auto start = std::find(chain.begin(), chain.end(), &first);
    for (auto stage = start; stage != chain.end(); ++stage) circle.push_back((*stage)->key);
    refuse(first, "like-cycle", first.node.table()->find("like")->node.place,
           fmt::format("'like' of stage '{}' leads back to itself{}", first.key,
                       circle.size() > 1 ? " through others" : ""),
           {circle_text(circle)});
    for (auto stage = start; stage != chain.end(); ++stage) (*stage)->node.broken = true;
  }

  void take_over(Entry& stage, const Entry& other) {
    // Missing keys are reported for the other stage.
    const Table* given = other.node.table();
    const Entry* other_use = given != nullptr ? given->find("use") : nullptr;
    if (other.node.broken || other_use == nullptr) {
      stage.node.broken = true;
      return;
    }
    Table& own = *stage.node.table();
    const Entry* use = own.find("use");
    const bool both_known = use != nullptr && use->node.text() != nullptr && !use->node.broken &&
                            other_use->node.text() != nullptr && !other_use->node.broken;
    if (both_known && *use->node.text() != *other_use->node.text()) {
      refuse(stage, "like-use", use->node.place,
             fmt::format("stage '{}' is like '{}', whose type is {}, so its 'use' cannot be {}",
                         stage.key, other.key, *other_use->node.text(), *use->node.text()),
             {fmt::format("remove 'use' ({}) or 'like' ({})", line_of(use->key_place),
                          line_of(own.find("like")->key_place)),
              fmt::format("'{}' is {} by {}", other.key, *other_use->node.text(),
                          line_of(other_use->key_place))});
      return;
    }
    for (const Entry& key : given->entries) {
      if (key.key == "like" || own.find(key.key) != nullptr) continue;
      Entry taken = key;
      if (taken.inherited_from.empty()) taken.inherited_from = other.key;
      own.entries.push_back(std::move(taken));
    }
  }

  Findings& findings_;
  std::map<std::string, Entry*, std::less<>> stages_;
  std::vector<std::string> names_;
  std::set<Entry*> resolved_;
};

}  // namespace

void resolve_likes(Table& tree, Findings& findings) {
  Entry* entry = tree.find("stage");
  Table* stages = entry != nullptr ? entry->node.table() : nullptr;
  if (stages == nullptr) return;
  LikeResolver resolver(*stages, findings);
  for (Entry& stage : stages->entries) resolver.resolve(stage);
}

}  // namespace seam::host
