#include "stages/dataset/tar.hpp"

#include <algorithm>

#include "stages/counted.hpp"
#include "stages/dataset/category_numbers.hpp"
#include "stages/dataset/command_output.hpp"
#include "stages/dataset/counted_list.hpp"
#include "stages/dataset/tar_samples.hpp"
#include "stages/picture_paths.hpp"

namespace seam::stages {
namespace {

constexpr std::string_view pipe = "pipe:";

/// "t-{008..010}.tar" ──► t-008.tar, t-009.tar, t-010.tar; several ranges multiply.
void add_names(const std::string& text, std::vector<std::string>& names) {
  const std::size_t open = text.find_first_of("{}");
  if (open == std::string::npos) {
    constexpr std::size_t most = 1'000'000;
    if (names.size() == most) {
      throw Error("parameter 'tar' names more than 1,000,000 tars", Fault::configuration);
    }
    names.push_back(text);
    return;
  }
  const std::size_t dots = text.find("..", open);
  const std::size_t close = text.find('}', open + 1);
  if (text[open] == '{' && dots < close && close != std::string::npos) {
    const std::string first = text.substr(open + 1, dots - open - 1);
    const std::string last = text.substr(dots + 2, close - dots - 2);
    const auto from = whole_number(first);
    const auto to = whole_number(last);
    if (from && to && *from <= *to) {
      const auto padded = [](const std::string& end) { return end.size() > 1 && end[0] == '0'; };
      const std::size_t width =
          padded(first) || padded(last) ? std::max(first.size(), last.size()) : 0;
      for (std::int64_t number = *from; number <= *to; ++number) {
        add_names(text.substr(0, open) + zero_padded(number, width) + text.substr(close + 1),
                  names);
      }
      return;
    }
  }
  throw Error("parameter 'tar': '" + text +
                  "' has a brace that is not part of a rising range such as {000..015}; list other "
                  "names one by one",
              Fault::configuration);
}

/// The source of labels that a parameter names.
LabelSource source_in(const std::string& text, const char* parameter, const std::string& none) {
  constexpr std::string_view json = "json:";
  if (text == none) return {};
  if (text == "cls") return {text, ""};
  if (text.starts_with(json) && text.size() > json.size()) {
    return {"json", text.substr(json.size())};
  }
  throw Error("parameter '" + std::string(parameter) + "' is '" + text + "'; expected \"" + none +
                  "\", \"cls\" or \"json:FIELD\"",
              Fault::configuration);
}

}  // namespace

void Tar::declare(Declaration& d) {
  d.doc(
      "Serves the images in tar files, one packet per sample, in the layout of WebDataset: the "
      "members of a sample have one name with different extensions, such as `000.jpg` and "
      "`000.cls`. Only headers and labels are read before the first image is served.");
  d.parameter("tar", tar_,
              "the tar files, in this order: \"shards/train-{000..015}.tar\" stands for 16 files, "
              "\"pipe:COMMAND\" for the output of a shell command")
      .required();
  d.parameter(
      "item", item_,
      "the label that images of one item share: \"cls\" (the text in `000.cls`), \"json:FIELD\" (a "
      "field of the object in `000.json`), or \"path\": each image is its own item");
  d.parameter("category", category_,
              "the label that is the category: \"cls\" or \"json:FIELD\"; default: all images have "
              "category 0");
  declare_rows(d, {.path = "the tar and the member, `train.tar/a.jpg`: a name"});
  d.provides(field::piece);
}

std::vector<std::string> Tar::names() const {
  std::vector<std::string> names;
  for (const std::string& text : tar_) {
    if (text.starts_with(pipe)) {
      names.push_back(text);
    } else {
      add_names(text, names);
    }
  }
  if (names.empty()) throw Error("parameter 'tar' names no tar", Fault::configuration);
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (seen.insert(name.starts_with(pipe) ? name : picture_file(name)).second) continue;
    throw Error("parameter 'tar' names '" + name + "' twice", Fault::configuration);
  }
  return names;
}

std::shared_ptr<const OpenFile> Tar::opened(const std::string& name, const Context& context) {
  if (!name.starts_with(pipe)) return open_file(name);
  std::shared_ptr<const OpenFile>& output = outputs_[name];
  if (output == nullptr) {
    context.info("reading the output of '" + name.substr(pipe.size()) + "'");
    output = output_of(name.substr(pipe.size()), name, [&] { return context.stop_requested(); });
  }
  return output;
}

void Tar::open(Context& context) {
  const LabelSources labels{source_in(item_, "item", "path"), source_in(category_, "category", "")};
  const std::vector<std::string> tars = names();
  std::vector<PictureRow> rows;
  std::vector<std::string> categories;
  pieces_.clear();
  for (const std::string& tar : tars) {
    const auto shared = std::make_shared<const std::string>(tar);
    const std::size_t before = rows.size();
    for (TarSample& sample :
         read_samples(opened(tar, context), labels, [&] { return context.stop_requested(); })) {
      const std::string& member = sample.picture.name;
      // Not by operator/, because a command may end in a slash.
      const std::string path = tar + "/" + member;
      if (sample.item.empty()) sample.item = path;
      categories.push_back(std::move(sample.category));
      if (category_number(categories.back()).has_value() !=
          category_number(categories.front()).has_value()) {
        throw Error(path + " has the category " + in_quotes(categories.back()) + ", and " +
                    rows.front().path.string() + " has " + in_quotes(categories.front()) +
                    "; categories are either all names or all whole numbers from 0");
      }
      rows.push_back({path, member, std::move(sample.item), 0,
                      static_cast<std::int64_t>(rows.size()), 0, shared});
      pieces_.push_back(std::move(sample.picture.content));
    }
    if (rows.size() == before) throw Error("no image in '" + tar + "'");
  }
  NumberedCategories numbered;
  if (!category_.empty()) {
    numbered = number_categories(categories, std::set(categories.begin(), categories.end()));
    for (std::size_t row = 0; row < rows.size(); ++row) rows[row].category = numbered.rows[row];
  }
  context.info(counted(rows.size(), "image") + " in " + counted(tars.size(), "tar file"));
  serve(std::move(rows), std::move(numbered.names), tars.front(), context);
}

void Tar::add_fields(Packet& packet, std::size_t row) const {
  packet.set(field::piece, pieces_[row]);
}

}  // namespace seam::stages
