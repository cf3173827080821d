/// [path]: names for parts of flows, so that what several flows share stands once.
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

/// The nodes that a text stands for. Those without inputs follow what stands before the text.
struct Expanded {
  std::vector<FlowNode> nodes;
  std::vector<std::size_t> ends;  ///< positions of the last ones
};

/// The paths of a file. One with a fault is known by name and can stand in no flow.
class Paths {
 public:
  /// Reads [path]. What is wrong with a path is reported here, whether a flow has it or not.
  Paths(const Table& tree, const std::vector<StageDraft>& stages, const Sources& sources,
        Findings& findings);

  /// What a flow's text stands for. Nothing where that is at fault, after a report if the fault is
  /// in the flow itself. Names that are neither a path's nor a stage's become nodes.
  [[nodiscard]] std::optional<Expanded> expand(const Entry& line, const FlowText& text,
                                               TextKind kind) const;

  /// Names that a flow can have: of stages, then of paths.
  [[nodiscard]] const std::vector<std::string>& known_names() const { return names_; }
  /// The sound ones, in the file's order.
  [[nodiscard]] std::vector<PathSpec> specs() const;

 private:
  struct Path {
    const Entry* line = nullptr;
    std::optional<Expanded> expanded;  ///< none: at fault, or not read yet
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

/// Reports what was found in a flow's or path's text; false where that is nothing.
bool report_faults(const FlowText& text, const Entry& line, const Sources& sources,
                   Findings& findings);

/// Reports a name in a flow or path that is neither a stage's nor a path's.
void report_unknown_name(const std::string& name, const Place& place,
                         const std::vector<std::string>& known, Findings& findings);

/// "it stands in path 'prepare', which flow 'gallery' has in demo.toml:92"; empty for what stands
/// in the flow itself.
std::string path_note(const FlowSpec& flow, const FlowNode& node);

/// Warns of paths that no flow has, and refuses those that only --set gives: names that are
/// misspelt. Those of files that `file` extends may go unused. To be asked only where no flow is at
/// fault.
void check_path_use(const Table& tree, const std::string& file, const std::vector<FlowSpec>& flows,
                    Findings& findings);

}  // namespace seam::host
