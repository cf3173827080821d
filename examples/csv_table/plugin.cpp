#include <seam/plugin.hpp>

#include "csv_table.hpp"

SEAM_PLUGIN(CsvTable)
