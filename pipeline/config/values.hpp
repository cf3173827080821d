/// Reads single values of Seam's own tables, with uniform messages.
#pragma once

#include <cstdint>
#include <optional>
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

}  // namespace seam::host
