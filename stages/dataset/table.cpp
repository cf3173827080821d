#include "stages/dataset/table.hpp"

#include <system_error>

#include <seam/box.hpp>

#include "stages/counted.hpp"
#include "stages/dataset/counted_list.hpp"
#include "stages/field_name.hpp"
#include "stages/number_in.hpp"

namespace seam::stages {
namespace {

namespace fs = std::filesystem;

/// "weight" or "Weight (kg) as weight".
TableField parse_field(const std::string& parameter, const std::string& text) {
  constexpr std::string_view as = " as ";
  const std::size_t at = text.rfind(as);
  TableField field;
  field.column = text.substr(0, at);
  field.name = at == std::string::npos ? text : text.substr(at + as.size());
  if (!is_field_name(field.name) || field.column.empty()) {
    throw Error("parameter '" + parameter + "': '" + text +
                    "' is not a valid field name; add one after the column, as in \"Weight (kg) as "
                    "weight\"",
                Fault::configuration);
  }
  if (!shared_field_type(field.name).empty()) {
    throw Error("parameter '" + parameter + "': the field '" + field.name +
                    "' already exists; give this one a different name, as in \"" + field.column +
                    " as table_" + field.name + "\"",
                Fault::configuration);
  }
  return field;
}

}  // namespace

void Table::declare(Declaration& d) {
  d.doc(
      "Serves the images listed in a CSV file, one packet per line.\n\nThe first line names the "
      "columns. The whole table is checked before the first image is served.");
  d.parameter("table", table_, "the CSV file").required().must_exist();
  d.parameter("root", root_, "the folder that paths are relative to; default: the table's folder")
      .folder_with({});
  d.parameter("separator", separator_, "separator between cells",
              {{",", Separator::comma}, {";", Separator::semicolon}, {"tab", Separator::tab}});
  d.parameter(
      "split", options_.split,
      "serve the rows with this value in the column 'split'; \"query\" and \"gallery\": the rows "
      "whose 'is_query' or 'is_gallery' is true, if the column exists; \"validation/query\": only "
      "those of one split; \"*\": all rows; empty: all rows of a table without splits");
  d.parameter("path_column", options_.path, "the column of files; default: 'path'");
  d.parameter("item_column", options_.item, "the column of items; default: 'item' or 'label'");
  d.parameter("category_column", options_.category,
              "the column of categories; default: 'category', or all 0 without that column");
  d.parameter("split_column", options_.split_column, "the column of splits; default: 'split'");
  d.parameter("boxes", options_.boxes,
              "the columns x_1, y_1, x_2 and y_2: reject a table that has such a box (refuse), "
              "provide it as the field 'box' (field), or use whole images (ignore)",
              {{"refuse", TableBoxes::refuse},
               {"field", TableBoxes::field},
               {"ignore", TableBoxes::ignore}});
  d.parameter("texts", texts_,
              "further columns to provide as fields: \"colour\", or \"Main colour as colour\" to "
              "name the field");
  d.parameter("integers", integers_, "the same for columns of whole numbers");
  d.parameter("numbers", numbers_, "the same for columns of numbers");
  d.parameter("expect", expect_, "number of images that the split must have, before folds cut it")
      .at_least(0)
      .same_results();
  declare_rows(d);
  declare_fields(d);
}

void Table::declare_fields(Declaration& d) {
  options_.texts.clear();
  options_.integers.clear();
  options_.numbers.clear();
  std::set<std::string> names;
  const auto add = [&]<class T>(const char* parameter, const std::vector<std::string>& entries,
                                std::vector<TableField>& fields, const T& /*type*/) {
    for (const std::string& entry : entries) {
      TableField field = parse_field(parameter, entry);
      if (!names.insert(field.name).second) {
        throw Error(std::string("parameter '") + parameter + "': there are two fields '" +
                        field.name + "'; rename one with \" as \"",
                    Fault::configuration);
      }
      d.provides(Field<T>{lasting_name(field.name)}).doc("column '" + field.column + "'");
      fields.push_back(std::move(field));
    }
  };
  add("texts", texts_, options_.texts, std::string());
  add("integers", integers_, options_.integers, std::int64_t{});
  add("numbers", numbers_, options_.numbers, double{});
  if (options_.boxes == TableBoxes::field) {
    d.provides(field::box)
        .doc("left, top, right and bottom in pixels of the image in the file")
        .values({"not cut out"});
  }
}

void Table::open(Context& context) {
  options_.separator = static_cast<char>(separator_);
  const fs::path root = root_.value_or(table_.parent_path());
  if (root_) {
    require_folder(root, "; set 'root' to the folder that the table's paths are relative to");
  }
  const ListText text = read_list_text(
      table_,
      "no file '" + table_.string() + "'; set 'table' to a CSV file with one line per image",
      "table");
  TableList list = parse_table(text.text, text.name, options_);
  const auto images = static_cast<std::int64_t>(list.rows.size());
  if (expect_ && *expect_ != images) {
    refuse_count(text.name + ": " + counted(images, "image") + " of the split",
                 std::to_string(*expect_), "table");
  }
  const TableRow& first = list.rows.front();
  std::error_code fault;
  if (!fs::exists(root / first.path, fault)) {
    throw Error(table_.string() + ":" + std::to_string(first.line) + ": '" +
                (root / first.path).string() +
                "', the first image, is missing; set 'root' to the folder that the table's paths "
                "are relative to");
  }
  const std::vector<std::string>& shared = list.items_in_train_and_elsewhere;
  if (!shared.empty()) {
    context.warn(counted(shared.size(), "item") + (shared.size() == 1 ? " is" : " are") +
                 " both in split 'train' and in another split (" + shared.front() +
                 (shared.size() == 1 ? "" : ", ...") +
                 "): the model is evaluated on items that it was trained on");
  }
  std::vector<PictureRow> rows;
  std::set<std::string_view> items;
  rows.reserve(list.rows.size());
  for (const TableRow& row : list.rows) {
    items.insert(row.item);
    rows.push_back({root / row.path, row.path, row.item, row.category, row.index, row.line});
  }
  context.info(counted(images, "image") + " of " + counted(items.size(), "item") +
               (list.categories.empty()
                    ? std::string()
                    : "; " + std::to_string(list.categories.size()) + " categories in the table"));
  values_ = std::move(list.rows);
  serve(std::move(rows), std::move(list.categories), table_.string(), context);
}

void Table::add_fields(Packet& packet, std::size_t row) const {
  const TableRow& values = values_[row];
  const auto add = [&packet](const std::vector<TableField>& fields, const auto& cells) {
    using T = typename std::remove_cvref_t<decltype(cells)>::value_type;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      packet.set(Field<T>{lasting_name(fields[i].name)}, cells[i]);
    }
  };
  add(options_.texts, values.texts);
  add(options_.integers, values.integers);
  add(options_.numbers, values.numbers);
  if (options_.boxes == TableBoxes::field) packet.set(field::box, values.box);
}

}  // namespace seam::stages
