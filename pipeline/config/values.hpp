/// Reads single values of a file, with uniform messages: those of Seam's own tables and of declared
/// parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <seam/declaration.hpp>
#include <string>
#include <vector>

#include "pipeline/config/document.hpp"
#include "pipeline/config/findings.hpp"

namespace seam::host {

/// Reports keys that are not in `known`. `where` is "[pipeline]", "'stop_early'", ...
void refuse_unknown_keys(const Table& table, const std::string& where,
                         const std::vector<std::string>& known, Findings& findings);

/// The value, or nullopt after a report. For broken nodes, nullopt without a report.
std::optional<std::int64_t> read_integer(const Entry& entry, const std::string& where,
                                         std::int64_t least, Findings& findings);
std::optional<std::string> read_text(const Entry& entry, const std::string& where,
                                     Findings& findings);
/// A list of texts; a single text is a list of one. The nodes, so that messages can point.
std::vector<const Node*> read_texts(const Entry& entry, const std::string& where,
                                    Findings& findings);
/// Bytes: an integer or "512 MiB" (KiB, MiB, GiB, TiB; kB, MB, GB, TB; B).
std::optional<std::int64_t> read_bytes(const Entry& entry, const std::string& where,
                                       Findings& findings);
/// The table of an entry, or null after a report.
const Table* read_table(const Entry& entry, const std::string& where, Findings& findings);
/// The table [key]; null if there is none, or after a report.
const Table* read_table(const Table& tree, const std::string& key, Findings& findings);

/// A single value that is not a list, a table or a date.
std::optional<Value> scalar(const Node& node);
}  // namespace seam::host
