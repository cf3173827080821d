/// Common code of tests of data sets: files in a test's own folder, lists in the In-Shop layout.
#pragma once

#include <gmock/gmock.h>

#include <cstdlib>
#include <seam/category_names.hpp>
#include <seam/listing.hpp>
#include <seam/refusal_testing.hpp>
#include <seam/testing.hpp>

#include "stages/published_lists.hpp"
#include "stages/served_items.hpp"
#include "tests/support/text.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::stages {

using test::error_of;
using test::TemporaryFolder;

/// An interface that the data set offers.
template <class Interface>
Interface& interface_of(testing::Harness& harness) {
  return *static_cast<Interface*>(harness.runner().interface(type_name<Interface>()));
}

/// The category names of an opened data set.
inline const std::vector<std::string>& names_of(testing::Harness& harness) {
  return interface_of<CategoryNames>(harness).category_names();
}

/// The items of an opened data set.
inline const ServedItems::Names& served_of(testing::Harness& harness) {
  return interface_of<ServedItems>(harness).served_items();
}

/// How an opened data set differs from the published one.
inline std::string difference_of(testing::Harness& harness) {
  return interface_of<PublishedLists>(harness).difference();
}

/// For a log: that it has a line with this text.
inline auto has_line(const std::string& text) {
  return ::testing::Contains(::testing::Field(&testing::LogLine::text, ::testing::HasSubstr(text)));
}

/// The images' positions in their list.
inline std::vector<std::int64_t> indices_of(const testing::Harness& harness) {
  std::vector<std::int64_t> found;
  for (const Packet& packet : harness.outputs()) found.push_back(packet.get(field::index));
  return found;
}

/// A folder below SEAM_TEST_DATA; empty if there is none.
inline std::filesystem::path test_data(const std::string& below) {
  const char* const root = std::getenv("SEAM_TEST_DATA");
  if (root == nullptr || !std::filesystem::exists(std::filesystem::path(root) / below)) return {};
  return std::filesystem::path(root) / below;
}

/// One folder for all stages of a conformance check: `fill` fills it for the first stage, and it is
/// removed with the last.
inline std::shared_ptr<TemporaryFolder> shared_folder(
    const std::function<void(const TemporaryFolder&)>& fill = {}) {
  static std::weak_ptr<TemporaryFolder> shared;
  std::shared_ptr<TemporaryFolder> folder = shared.lock();
  if (!folder) {
    folder = std::make_shared<TemporaryFolder>();
    if (fill) fill(*folder);
    shared = folder;
  }
  return folder;
}

/// For conformance: sets `root` to such a folder.
inline auto rooted_in(void (*fill)(const TemporaryFolder&)) {
  return [fill](testing::Harness& harness) -> std::shared_ptr<void> {
    auto folder = shared_folder(fill);
    harness.set("root", folder->path().string());
    return folder;
  };
}

/// Tests of a data set whose `root` is a folder that `fill` fills.
template <class Stage, void (*fill)(const TemporaryFolder&) = nullptr>
class DataSetTest : public ::testing::Test {
 protected:
  DataSetTest() {
    if constexpr (fill != nullptr) fill(folder_);
  }
  [[nodiscard]] std::unique_ptr<testing::Harness> make() const {
    auto harness = std::make_unique<testing::Harness>("items", std::make_unique<Stage>());
    harness->set("root", folder_.path().string());
    return harness;
  }
  TemporaryFolder folder_;
};

/// The text with something else for the first place of `from`.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

/// A change to a text, and a part of the message that refuses it.
struct Refusal {
  std::string from;
  std::string to;
  std::string message;
};

/// Expects `parse` to refuse the text with each of the changes.
inline void expect_refusals(const std::string& text, const std::vector<Refusal>& refusals,
                            const std::function<void(const std::string&)>& parse) {
  for (const Refusal& refusal : refusals) {
    EXPECT_REFUSED(parse(replaced(text, refusal.from, refusal.to)), Fault::data, refusal.message)
        << "'" << refusal.to << "' instead of '" << refusal.from << "'";
  }
}

/// The text with the line ends of Windows and a byte order mark.
inline std::string as_on_windows(const std::string& text) {
  std::string changed = "\xEF\xBB\xBF";
  for (const char c : text) changed += c == '\n' ? "\r\n" : std::string(1, c);
  return changed;
}

/// A list with the given rows and the count that fits them.
inline std::string list_of(const std::vector<std::string>& rows) {
  std::string text = std::to_string(rows.size()) + "\nimage_name item_id evaluation_status\n";
  for (const std::string& row : rows) text += row + "\n";
  return text;
}

}  // namespace seam::stages
