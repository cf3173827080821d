# cmake -DOUTPUT=page_parts.cpp "-DPARTS=page.html;page.css;page.js;runs_page.html;chart.min.js" -P embed_parts.cmake
# Files as C++ constants, in the order of page.hpp.
set(names page_template page_style page_script runs_template chart_library)
set(text "#include \"pipeline/report/page.hpp\"\n\nnamespace seam::host {\n")
foreach(name part IN ZIP_LISTS names PARTS)
  file(READ "${part}" bytes HEX)  # any byte, quotes and semicolons too
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" bytes "${bytes}")
  string(APPEND text "const std::string_view ${name}(\"${bytes}\");\n")
endforeach()
string(APPEND text "}  // namespace seam::host\n")
file(WRITE "${OUTPUT}" "${text}")
