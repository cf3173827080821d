#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <utility>

#include "pipeline/cli/loading.hpp"
#include "pipeline/run/run_directory.hpp"
#include "pipeline/run/summary.hpp"
#include "pipeline/text/count.hpp"
#include "pipeline/text/lists.hpp"

namespace seam::host {
namespace {

/// "flow_0_3": the fourth node of the first flow.
std::string node_id(std::size_t flow, std::size_t node) {
  return fmt::format("flow_{}_{}", flow, node);
}

/// Escapes a label, for both formats. Names contain letters, digits, '.', '_' and '-', so only
/// quotes need an escape.
std::string label(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '"' ? '\'' : c;
  return result;
}

/// A reference from one stage to another, as an edge between their first nodes.
struct Reference {
  std::string from;
  std::string to;
  std::string parameter;
};

struct Drawing {
  const PipelineSpec& spec;
  std::map<std::string, const StageSpec*> stages;
  std::map<std::string, std::string> first_node;  ///< by stage
  std::vector<Reference> references;
  std::vector<FlowTotal> flows;  ///< the totals of a run; empty for a file
};

/// The counts of a stage in the run that is drawn.
struct Done {
  const FlowTotal* flow;
  const StageCount* stage;
};

std::optional<Done> done_by(const Drawing& drawing, const std::string& flow,
                            const std::string& stage) {
  const FlowTotal* ran = find_in(drawing.flows, flow, &FlowTotal::flow);
  if (ran == nullptr) return std::nullopt;
  const StageCount* count = find_in(ran->stages, stage, &StageCount::stage);
  if (count == nullptr) return std::nullopt;
  return Done{ran, count};
}

/// Further lines of a stage's label, each after `line`: packets, time, memory, and packets dropped
/// or failed.
std::string done_text(const std::optional<Done>& done, const std::string& line) {
  if (!done) return "";
  const StageCount& stage = *done->stage;
  std::string text = fmt::format("{}{}, {:.0f} % of wall", line, packets_text(packets_of(stage)),
                                 100 * share_of_wall(stage, *done->flow));
  if (stage.memory.peak > 0) {
    text += fmt::format("{}{} of tensors", line, mebibytes_text(stage.memory.peak));
  }
  if (stage.dropped_total() > 0) {
    text += fmt::format("{}{} dropped", line, count_text(stage.dropped_total()));
  }
  if (stage.failed > 0) text += fmt::format("{}{} failed", line, count_text(stage.failed));
  return text;
}

/// The longest queue before a stage.
std::string queue_text(const std::optional<Done>& done) {
  return done && done->stage->waiting_most > 0
             ? fmt::format("queue {}", count_text(done->stage->waiting_most))
             : std::string();
}

Drawing draw(const PipelineSpec& spec, std::vector<FlowTotal> flows) {
  Drawing drawing{spec, {}, {}, {}, std::move(flows)};
  for (const StageSpec& stage : spec.stages) drawing.stages.emplace(stage.name, &stage);
  for (std::size_t flow = 0; flow < spec.flows.size(); ++flow) {
    for (std::size_t node = 0; node < spec.flows[flow].nodes.size(); ++node) {
      drawing.first_node.emplace(spec.flows[flow].nodes[node].stage, node_id(flow, node));
    }
  }
  for (const StageSpec& stage : spec.stages) {
    for (const auto& [parameter, target] : stage.references) {
      const auto from = drawing.first_node.find(stage.name);
      const auto to = drawing.first_node.find(target);
      if (from != drawing.first_node.end() && to != drawing.first_node.end()) {
        drawing.references.push_back({from->second, to->second, parameter});
      }
    }
  }
  return drawing;
}

void print_dot(const Drawing& drawing) {
  std::cout << fmt::format("digraph \"{}\" {{\n  rankdir=LR;\n  node [shape=box];\n",
                           label(drawing.spec.name));
  for (std::size_t flow = 0; flow < drawing.spec.flows.size(); ++flow) {
    const FlowSpec& spec = drawing.spec.flows[flow];
    std::cout << fmt::format("  subgraph cluster_{} {{\n    label=\"{}\";\n", flow,
                             label(spec.name));
    for (std::size_t node = 0; node < spec.nodes.size(); ++node) {
      const std::string& stage = spec.nodes[node].stage;
      const auto done = done_by(drawing, spec.name, stage);
      // A stage's fraction of the time sets the saturation, so that slow stages are easy to see.
      const std::string colour =
          done ? fmt::format(", style=filled, fillcolor=\"0.08 {:.2f} 1.0\"",
                             std::min(share_of_wall(*done->stage, *done->flow), 1.0))
               : std::string();
      std::cout << fmt::format("    {} [label=\"{}\\n{}{}\"{}];\n", node_id(flow, node),
                               label(stage), label(drawing.stages.at(stage)->use),
                               done_text(done, "\\n"), colour);
      const std::string queue = queue_text(done);
      for (const std::size_t input : spec.nodes[node].inputs) {
        std::cout << fmt::format("    {} -> {}{};\n", node_id(flow, input), node_id(flow, node),
                                 queue.empty() ? "" : fmt::format(" [label=\"{}\"]", queue));
      }
    }
    std::cout << "  }\n";
  }
  for (const Reference& reference : drawing.references) {
    std::cout << fmt::format("  {} -> {} [style=dashed, constraint=false, label=\"{}\"];\n",
                             reference.from, reference.to, label(reference.parameter));
  }
  std::cout << "}" << std::endl;
}

void print_mermaid(const Drawing& drawing) {
  std::cout << "flowchart LR\n";
  for (std::size_t flow = 0; flow < drawing.spec.flows.size(); ++flow) {
    const FlowSpec& spec = drawing.spec.flows[flow];
    std::cout << fmt::format("  subgraph flow_{}[\"{}\"]\n", flow, label(spec.name));
    for (std::size_t node = 0; node < spec.nodes.size(); ++node) {
      const std::string& stage = spec.nodes[node].stage;
      const auto done = done_by(drawing, spec.name, stage);
      std::cout << fmt::format("    {}[\"{}<br>{}{}\"]\n", node_id(flow, node), label(stage),
                               label(drawing.stages.at(stage)->use), done_text(done, "<br>"));
      const std::string queue = queue_text(done);
      for (const std::size_t input : spec.nodes[node].inputs) {
        std::cout << fmt::format("    {} -->{} {}\n", node_id(flow, input),
                                 queue.empty() ? "" : "|" + queue + "|", node_id(flow, node));
      }
    }
    std::cout << "  end\n";
  }
  for (const Reference& reference : drawing.references) {
    std::cout << fmt::format("  {} -. {} .-> {}\n", reference.from, label(reference.parameter),
                             reference.to);
  }
  std::cout.flush();
}

}  // namespace

ExitCode graph_verb(const GraphArguments& arguments) {
  const auto pipeline = load_or_report(options_of(arguments));
  if (!pipeline) return ExitCode::configuration;
  std::vector<FlowTotal> flows;
  const std::filesystem::path run(arguments.file);
  // A run that has not ended has no counts yet.
  if (std::filesystem::exists(run / "summary.json")) flows = read_flows(run / "summary.json");
  const Drawing drawing = draw(pipeline->spec, std::move(flows));
  if (arguments.format == "mermaid") {
    print_mermaid(drawing);
  } else {
    print_dot(drawing);
  }
  return ExitCode::success;
}

}  // namespace seam::host
