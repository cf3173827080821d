/// The settings of a resolved pipeline, and how those of several runs differ.
///
///     resolved.toml ──► [{table, key, value, set or default}] ──► differences
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace seam::host {

enum class SetBy : std::uint8_t { file, default_value };

struct Setting {
  std::string table;  ///< "stage.model"
  std::string key;    ///< "classes"
  std::string value;  ///< as written in the file: 14, "area"
  SetBy set_by = SetBy::file;

  friend bool operator==(const Setting&, const Setting&) = default;
};

/// In the file's order. `file` is for messages; throws seam::Error (data) if it is not valid TOML.
std::vector<Setting> read_settings(const std::string& text, const std::string& file);

/// A key that differs between runs; nullopt for runs that do not have it.
struct SettingDifference {
  std::string name;  ///< "stage.model.classes"
  std::vector<std::optional<std::string>> values;

  friend bool operator==(const SettingDifference&, const SettingDifference&) = default;
};

/// In the order in which the keys first appear.
std::vector<SettingDifference> differences(const std::vector<std::vector<Setting>>& runs);

}  // namespace seam::host
