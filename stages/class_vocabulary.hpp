/// Category names of a model's classes, whether all data sets number categories alike, and what
/// losses train the classes to be. Nothing in a tensor shows that a model was trained on one list
/// of categories and evaluated on a different one.
///
///     dataset.* ── CategoryNames ─┬─► model.*  (ClassVocabulary: all data sets of all flows)
///                                 │      └──► metric.accuracy: refuses data sets that disagree
///                                 └─► loss.*  (CategoryNumbering): refuses those before it
#pragma once

#include <algorithm>
#include <map>

#include <seam/category_names.hpp>
#include <seam/declaration.hpp>
#include <seam/error.hpp>
#include <seam/reference.hpp>

#include "stages/counted.hpp"
#include "stages/listed_categories.hpp"

namespace seam::stages {

/// Returns the names if all data sets have the same; empty if they have none or differ.
inline std::vector<std::string> agreed_names(const Refs<CategoryNames>& data_sets) {
  const std::vector<std::string>* names = nullptr;
  for (const CategoryNames* data_set : data_sets) {
    if (names != nullptr && *names != data_set->category_names()) return {};
    names = &data_set->category_names();
  }
  return names == nullptr ? std::vector<std::string>() : *names;
}

/// The data sets before a stage, which may number their categories in different ways.
class CategoryNumbering {
 public:
  void declare(Declaration& d, std::string doc) { d.upstream(data_sets_, std::move(doc)); }

  /// In the stage's open(): keeps the data sets of all flows that will run. In begin() only those
  /// of its flow are bound.
  void open() { all_.assign(data_sets_.begin(), data_sets_.end()); }

  /// Throws seam::Error if data sets number categories in different ways. A data set with more
  /// categories agrees with a shorter one if it continues the shorter list. Do not call it in
  /// open(): data sets of later flows have no names yet.
  void require_one() const {
    const std::vector<std::string>* longest = nullptr;
    for (const CategoryNames* data_set : all_) {
      const std::vector<std::string>& names = data_set->category_names();
      if (names.empty()) continue;
      if (longest == nullptr) longest = &names;
      require_same(*longest, names);
      if (names.size() > longest->size()) longest = &names;
    }
  }

  /// If categories are labels, also: throws seam::Error if some data sets name their categories and
  /// others have numbers of their own. The only category of unlabelled images has no name.
  void require_names_or_numbers() const {
    const auto is_named = [](const CategoryNames* data_set) {
      const std::vector<std::string>& names = data_set->category_names();
      return names.size() > 1 || (names.size() == 1 && !names.front().empty());
    };
    const auto has_numbers = [](const CategoryNames* data_set) {
      const auto* const listed = dynamic_cast<const ListedCategories*>(data_set);
      return listed != nullptr && listed->has_own_numbers();
    };
    const auto named = std::ranges::find_if(all_, is_named);
    if (named == all_.end() || std::ranges::none_of(all_, has_numbers)) return;
    throw Error("one data set of this pipeline names its categories (0 is '" +
                    (*named)->category_names().front() +
                    "'), and the list of another has whole numbers instead, so nothing shows "
                    "whether they mean the same categories. Use names in both lists, or numbers "
                    "in both",
                Fault::configuration);
  }

  /// How many categories the data sets before the stage in the flow under way have names for; 0 if
  /// they name none.
  [[nodiscard]] std::int64_t named() const {
    std::size_t most = 0;
    for (const CategoryNames* data_set : data_sets_) {
      most = std::max(most, data_set->category_names().size());
    }
    return static_cast<std::int64_t>(most);
  }

  /// The names of categories that are in a list, but in no image that the data sets before the
  /// stage serve in the flow under way; none if one of these data sets does not tell.
  [[nodiscard]] std::vector<std::string> without_images() const {
    std::set<std::int64_t> served;
    std::vector<std::string> names;
    for (const CategoryNames* data_set : data_sets_) {
      const auto* const listed = dynamic_cast<const ListedCategories*>(data_set);
      if (listed == nullptr) return {};
      served.insert(listed->served_categories().begin(), listed->served_categories().end());
      if (data_set->category_names().size() > names.size()) names = data_set->category_names();
    }
    std::vector<std::string> missing;
    for (std::size_t at = 0; at < names.size(); ++at) {
      if (!served.contains(static_cast<std::int64_t>(at))) missing.push_back(names[at]);
    }
    return missing;
  }

 private:
  static void require_same(const std::vector<std::string>& one,
                           const std::vector<std::string>& other) {
    const std::size_t both = std::min(one.size(), other.size());
    for (std::size_t at = 0; at < both; ++at) {
      if (one[at] == other[at]) continue;
      throw Error("the data sets of this pipeline number categories in different ways: category " +
                      std::to_string(at) + " is '" + one[at] + "' in one (of " +
                      counted(one.size(), "category", "categories") + ") and '" + other[at] +
                      "' in another (of " + grouped(static_cast<std::int64_t>(other.size())) +
                      "). Give all of them the same categories, or evaluate on the other data in "
                      "a separate pipeline",
                  Fault::configuration);
    }
  }

  Refs<CategoryNames> data_sets_;
  std::vector<const CategoryNames*> all_;  // owned by the host, which keeps them for the run
};

/// The kind of an output's classes.
enum class ClassLabels : std::uint8_t { category, item };

/// Held by models whose outputs are numbered by category, and provided to stages that read them.
class ClassVocabulary : public CategoryNumbering {
 public:
  void declare(Declaration& d) {
    CategoryNumbering::declare(
        d,
        "the names of categories: data sets that disagree are rejected if classes are evaluated");
    d.offers<ClassVocabulary>(*this);
    outputs_ = d.description().provides;
  }

  /// Whether the model provides the field.
  [[nodiscard]] bool provides(std::string_view field) const {
    return std::ranges::find(outputs_, field, &FieldInfo::name) != outputs_.end();
  }

  /// For the open() of a loss that trains an output, or measures it in an evaluation. Throws
  /// seam::Error if another loss of this run compares it with other classes.
  void train(std::string_view output, ClassLabels labels, std::string_view loss) {
    const Trained now{labels, std::string(loss)};
    const Trained& first = trained_.try_emplace(std::string(output), now).first->second;
    if (first.labels == labels) return;
    const bool items_first = first.labels == ClassLabels::item;
    throw Error("stage '" + (items_first ? first : now).loss + "' compares the classes of `" +
                    std::string(output) + "` with items, but stage '" +
                    (items_first ? now : first).loss +
                    "' compares them with categories; give both losses the same `labels`, or let "
                    "each read a separate output",
                Fault::configuration);
  }
  /// Throws seam::Error if a loss of this run trains the output's classes to be items.
  void require_categories(std::string_view output) const {
    const auto trained = trained_.find(output);
    if (trained == trained_.end() || trained->second.labels == ClassLabels::category) return;
    throw Error(
        "a loss trains the model's classes to be items (labels = \"item\"), but they are "
        "compared with categories; evaluate items by retrieval, or train with labels = "
        "\"category\"",
        Fault::configuration);
  }

 private:
  struct Trained {
    ClassLabels labels;
    std::string loss;  ///< the first stage that does
  };

  std::vector<FieldInfo> outputs_;
  std::map<std::string, Trained, std::less<>> trained_;  // by output
};

/// Returns the last of the models that provide the field, whose values arrive; null if none does.
inline ClassVocabulary* provider_of(std::string_view field, const Refs<ClassVocabulary>& models) {
  ClassVocabulary* last = nullptr;
  for (ClassVocabulary* model : models) {
    if (model->provides(field)) last = model;
  }
  return last;
}

}  // namespace seam::stages
