/// [path]: names for parts of flows, so that a part that several flows share is written once.
///
///     [path]
///     prepare = "decode -> resize -> batch"
///     [flow]
///     gallery = "items -> prepare -> model"    ──►    items ─► decode ─► resize ─► batch ─► model
///
/// A name stands for its text: with it, "items -> {prepare, label} -> model" is "items -> {decode
/// -> resize -> batch, label} -> model".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/config/document.hpp"
#include "pipeline/config/findings.hpp"
#include "pipeline/config/flow_text.hpp"
#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/config/stages.hpp"

namespace seam::host {

/// The nodes of an expanded text. Those without inputs follow whatever precedes the text.
struct Expanded {
  std::vector<FlowNode> nodes;
  std::vector<std::size_t> ends;  ///< positions of the last ones
};

/// The paths of a file. An invalid path is known by name but cannot be used in a flow.
class Paths {
 public:
  /// Reads [path] and reports its errors, whether or not a flow uses the path.
  Paths(const Table& tree, const std::vector<StageDraft>& stages, const Sources& sources,
        Findings& findings);

  /// Expands a flow's text. Returns nullopt if it is invalid, after a report if the error is in the
  /// flow itself. Names that are neither a path's nor a stage's become nodes.
  [[nodiscard]] std::optional<Expanded> expand(const Entry& line, const FlowText& text,
                                               TextKind kind) const;

  /// Names that a flow can use: of stages, then of paths.
  [[nodiscard]] const std::vector<std::string>& known_names() const { return names_; }
  /// The valid paths, in the file's order.
  [[nodiscard]] std::vector<PathSpec> specs() const;

 private:
  struct Path {
    const Entry* line = nullptr;
    std::optional<Expanded> expanded;  ///< none: invalid, or not read yet
    bool read = false;
  };

  void read(const std::string& name, std::vector<std::string>& readers);
  [[nodiscard]] bool are_sound(const Entry& line, const FlowText& text,
                               std::vector<std::string>& readers);
  [[nodiscard]] const Path* find(const std::string& name) const;

  const Sources& sources_;
  Findings& findings_;
  std::map<std::string, Path> paths_;
  std::vector<std::string> names_;  // of stages, then of paths
  std::vector<std::string> order_;  // of paths
};

/// Reports the errors in the text of a flow or path; returns whether there were any.
bool report_faults(const FlowText& text, const Entry& line, const Sources& sources,
                   Findings& findings);

/// Reports a name in a flow or path that is neither a stage's nor a path's.
void report_unknown_name(const std::string& name, const Place& place,
                         const std::vector<std::string>& known, Findings& findings);

/// "it is in path 'prepare', used by flow 'gallery' in demo.toml:92"; empty for a node of the flow
/// itself.
std::string path_note(const FlowSpec& flow, const FlowNode& node);

/// Warns of paths that no flow uses, and rejects those that only --set defines, because their names
/// are misspelt. Paths of files that `file` extends may be unused. Call it only if all flows are
/// valid.
void check_path_use(const Table& tree, const std::string& file, const std::vector<FlowSpec>& flows,
                    Findings& findings);

}  // namespace seam::host
