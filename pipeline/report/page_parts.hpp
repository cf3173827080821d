/// The files of a page as constants; embed_parts.cmake generates the source.
#pragma once

#include <string_view>

namespace seam::host {

extern const std::string_view page_template;  ///< page.html
extern const std::string_view page_style;     ///< page.css
extern const std::string_view page_script;    ///< page.js
extern const std::string_view runs_template;  ///< runs_page.html
extern const std::string_view chart_library;  ///< chart.min.js

}  // namespace seam::host
