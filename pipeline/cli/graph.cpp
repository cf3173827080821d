#include <fmt/format.h>

#include <iostream>
#include <map>

#include "pipeline/cli/report.hpp"
#include "pipeline/cli/verbs.hpp"

namespace seam::host {
namespace {

/// "flow_0_3": the fourth node of the first flow.
std::string node_id(std::size_t flow, std::size_t node) {
  return fmt::format("flow_{}_{}", flow, node);
}

/// For both formats: names are letters, digits, '.', '_' and '-', and flow and stage names need no
/// escapes beyond quotes.
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
};

Drawing draw(const PipelineSpec& spec) {
  Drawing drawing{spec, {}, {}, {}};
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
      std::cout << fmt::format("    {} [label=\"{}\\n{}\"];\n", node_id(flow, node), label(stage),
                               label(drawing.stages.at(stage)->use));
      for (const std::size_t input : spec.nodes[node].inputs) {
        std::cout << fmt::format("    {} -> {};\n", node_id(flow, input), node_id(flow, node));
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
      std::cout << fmt::format("    {}[\"{}<br>{}\"]\n", node_id(flow, node), label(stage),
                               label(drawing.stages.at(stage)->use));
      for (const std::size_t input : spec.nodes[node].inputs) {
        std::cout << fmt::format("    {} --> {}\n", node_id(flow, input), node_id(flow, node));
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
  const auto pipeline = load_or_report(arguments.file, arguments.set, arguments.plugin_paths);
  if (!pipeline) return ExitCode::configuration;
  const Drawing drawing = draw(pipeline->spec);
  if (arguments.format == "mermaid") {
    print_mermaid(drawing);
  } else {
    print_dot(drawing);
  }
  return ExitCode::success;
}

}  // namespace seam::host
