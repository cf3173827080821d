#include "stages/dataset/tar.hpp"

#include <set>
#include <utility>

#include "stages/counted.hpp"
#include "stages/dataset/braces.hpp"
#include "stages/dataset/category_numbers.hpp"
#include "stages/dataset/command_output.hpp"
#include "stages/dataset/in_quotes.hpp"
#include "stages/dataset/tar_labels.hpp"
#include "stages/picture_paths.hpp"

namespace seam::stages {
namespace {

constexpr std::string_view pipe = "pipe:";

/// A sample and the name of its tar.
struct Found {
  std::shared_ptr<const std::string> tar;
  TarSample sample;
};

[[noreturn]] void refuse(const Found& found, const std::string& what, Fault fault = Fault::data) {
  throw Error(*found.tar + ": sample " + in_quotes(found.sample.key) + " " + what, fault);
}

/// The meaning of `automatic`.
TarLabels labels_in(const Found& first) {
  if (first.sample.cls && first.sample.json) {
    refuse(first,
           "has labels both in 'cls' and in 'json'; set labels to \"cls\", \"json\" or \"none\"",
           Fault::configuration);
  }
  return first.sample.cls ? TarLabels::cls : first.sample.json ? TarLabels::json : TarLabels::none;
}

class LabelReader {
 public:
  LabelReader(TarLabels labels, bool automatic, LabelFields fields)
      : labels_(labels), automatic_(automatic), fields_(std::move(fields)) {}

  SampleLabels read(const Found& found, const std::string& path) {
    const TarSample& sample = found.sample;
    if (labels_ == TarLabels::none) {
      if (automatic_ && (sample.cls || sample.json)) {
        refuse(found,
               "has labels, but the first sample has none; set labels to \"none\" to read "
               "none of them");
      }
      return {path, std::nullopt};
    }
    const auto& member = labels_ == TarLabels::cls ? sample.cls : sample.json;
    if (!member) {
      refuse(found, std::string("has no member '") + (labels_ == TarLabels::cls ? "cls" : "json") +
                        "' with its labels; add it, or set labels to \"none\"");
    }
    SampleLabels labels =
        labels_ == TarLabels::cls ? read_cls(*member) : read_json(*member, fields_);
    if (!has_categories_) has_categories_ = labels.category.has_value();
    if (*has_categories_ != labels.category.has_value()) {
      refuse(found, std::string(*has_categories_ ? "has no" : "has a") +
                        " category, unlike the samples before it");
    }
    return labels;
  }

 private:
  TarLabels labels_;
  bool automatic_;
  LabelFields fields_;
  std::optional<bool> has_categories_;
};

}  // namespace

void Tar::declare(Declaration& declaration) {
  declaration.doc(
      "Serves the images in tar files, one packet per sample, in the layout of WebDataset: the "
      "members of a sample have one name with different extensions, such as `000.jpg` and "
      "`000.cls`. Only headers and labels are read before the first image is served.");
  declaration
      .parameter("tar", tar_,
                 "the tar files, in this order: \"shards/train-{000..015}.tar\" stands for 16 "
                 "files, \"pipe:COMMAND\" for the output of a shell command")
      .required();
  declaration.parameter("labels", labels_,
                        "the member with a sample's labels: `cls` with its category, which is its "
                        "item too (cls), an object `json` (json), or no member: each image is its "
                        "own item (none); auto: the one that the samples have",
                        {{"auto", TarLabels::automatic},
                         {"none", TarLabels::none},
                         {"cls", TarLabels::cls},
                         {"json", TarLabels::json}});
  declaration
      .parameter("item_field", item_field_,
                 "the field of items in `json`; default: 'item' or 'label'")
      .only_with("labels", {"auto", "json"});
  declaration
      .parameter("category_field", category_field_,
                 "the field of categories in `json`; default: 'category', or all 0 without that "
                 "field")
      .only_with("labels", {"auto", "json"});
  declaration.parameter("extensions", extensions_,
                        "extensions of the members that are images, in lower or upper case");
  declare_rows(declaration, {.item = "the label, or the path if there are no labels",
                             .path = "the tar and the member, `train.tar/a.jpg`: a name"});
  declaration.provides(field::piece);
}

std::vector<std::string> Tar::names() const {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const std::string& text : tar_) {
    for (std::string& one : expand_braces(text)) {
      if (!seen.insert(one.starts_with(pipe) ? one : picture_file(one)).second) {
        throw Error("parameter 'tar' names '" + one + "' twice", Fault::configuration);
      }
      names.push_back(std::move(one));
    }
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
  std::set<std::string> extensions;
  for (const std::string& extension : extensions_) {
    extensions.insert(lower(extension.starts_with('.') ? extension.substr(1) : extension));
  }
  const std::vector<std::string> tars = names();
  std::vector<Found> all;
  for (const std::string& tar : tars) {
    const auto shared = std::make_shared<const std::string>(tar);
    for (TarSample& sample : read_samples(opened(tar, context), extensions)) {
      all.push_back({shared, std::move(sample)});
    }
  }
  if (all.empty()) {
    throw Error("no image in " + counted(tars.size(), "tar file") +
                (tars.empty() ? "; set 'tar'" : ", the first of them '" + tars.front() + "'"));
  }
  const bool automatic = labels_ == TarLabels::automatic;
  LabelReader reader(automatic ? labels_in(all.front()) : labels_, automatic,
                     {item_field_, category_field_});
  std::vector<PictureRow> rows;
  std::vector<std::string> categories;
  std::set<std::string> items;
  pieces_.clear();
  for (const Found& found : all) {
    const TarMember& picture = found.sample.picture;
    // Not by operator/, because a command may end in a slash.
    const std::string path = *found.tar + "/" + picture.name;
    SampleLabels labels = reader.read(found, path);
    items.insert(labels.item);
    if (labels.category) categories.push_back(*std::move(labels.category));
    rows.push_back({path, picture.name, std::move(labels.item), 0,
                    static_cast<std::int64_t>(rows.size()), 0, found.tar});
    pieces_.push_back(picture.content);
  }
  CategoryNumbers numbered =
      number_categories(categories, std::set(categories.begin(), categories.end()));
  for (std::size_t row = 0; row < numbered.rows.size(); ++row) {
    rows[row].category = numbered.rows[row];
  }
  context.info(counted(rows.size(), "image") + " of " + counted(items.size(), "item") + " in " +
               counted(tars.size(), "tar file"));
  serve(std::move(rows), std::move(numbered.names), tars.front(), context);
}

void Tar::add_fields(Packet& packet, std::size_t row) const {
  packet.set(field::piece, pieces_[row]);
}

}  // namespace seam::stages
