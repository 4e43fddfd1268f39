# Writes the API's description into a C++ file:  cmake -DOUT=file -DJSON=file -P embed_openapi.cmake
file(READ ${JSON} body)
file(WRITE ${OUT} "#include \"service/openapi.h\"\n\nnamespace semel::service {\n\nstd::string_view openapi_document() {\n  return R\"~json~(${body})~json~\";\n}\n\n}  // namespace semel::service\n")
