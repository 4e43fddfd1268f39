# Writes the console into a C++ file:  cmake -DOUT=file -DCONSOLE=folder -DCHART=file -P embed_console.cmake
# As bytes, not as literals: compilers need not take one that is longer than 64 KiB.
set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")

set(arrays "")
set(entries "")
set(count 0)
function(embed file path)
  get_filename_component(extension ${file} LAST_EXT)
  string(SUBSTRING ${extension} 1 -1 extension)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
  file(SHA256 ${file} digest)
  string(SUBSTRING ${digest} 0 32 digest)
  string(APPEND arrays "constexpr unsigned char kFile${count}[] = {\n${bytes}};\n")
  string(APPEND entries "      {\"${path}\", \"${type_${extension}}\", \"\\\"${digest}\\\"\", text(kFile${count})},\n")
  math(EXPR count "${count} + 1")
  set(arrays "${arrays}" PARENT_SCOPE)
  set(entries "${entries}" PARENT_SCOPE)
  set(count ${count} PARENT_SCOPE)
endfunction()

embed(${CONSOLE}/index.html /)
file(GLOB_RECURSE files RELATIVE ${CONSOLE} ${CONSOLE}/*.css ${CONSOLE}/*.js ${CONSOLE}/*.svg)
list(SORT files)
foreach(file ${files})
  embed(${CONSOLE}/${file} /console/${file})
endforeach()
embed(${CHART} /console/chart.js)

file(WRITE ${OUT} "#include \"admin/console/console.h\"

namespace semel::admin {
namespace {

${arrays}
template <std::size_t size>
std::string_view text(const unsigned char (&bytes)[size]) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

const std::vector<ConsoleFile>& console_files() {
  static const std::vector<ConsoleFile> all = {
${entries}  };
  return all;
}

}  // namespace semel::admin
")
