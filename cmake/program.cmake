# The program semel, and what the library's parts other than `pg` are made of.
find_package(ZLIB REQUIRED)
find_package(simdjson REQUIRED)
find_package(fmt REQUIRED)
find_package(RocksDB REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(CLI11 REQUIRED)
find_package(prometheus-cpp REQUIRED COMPONENTS core)
find_package(PkgConfig REQUIRED)
pkg_check_modules(rabbitmq REQUIRED IMPORTED_TARGET librabbitmq)
pkg_check_modules(nats REQUIRED IMPORTED_TARGET libnats)
pkg_check_modules(rdkafka REQUIRED IMPORTED_TARGET rdkafka)
pkg_check_modules(hiredis REQUIRED IMPORTED_TARGET hiredis)
find_library(JEMALLOC_LIBRARY jemalloc REQUIRED)

add_library(semel_asio STATIC ${PROJECT_SOURCE_DIR}/cmake/asio.cc ${needs_asio})
target_link_libraries(semel_asio PUBLIC $<BUILD_INTERFACE:semel_options> Threads::Threads OpenSSL::SSL
                      OpenSSL::Crypto PRIVATE $<BUILD_INTERFACE:fmt::fmt>)
target_compile_definitions(semel_asio INTERFACE "$<INSTALL_INTERFACE:${asio_definitions}>")
semel_fortify(semel_asio)
target_precompile_headers(semel_asio PRIVATE ${PROJECT_SOURCE_DIR}/cmake/pch.h)

semel_library(fingerprint core/fingerprint semel_core simdjson::simdjson fmt::fmt)
# For those who write a store: its interface is Asio's headers only, so the macros of semel_asio are not imposed on them.
add_library(semel_store STATIC ${encoding})
target_link_libraries(semel_store PRIVATE $<BUILD_INTERFACE:semel_options> PUBLIC semel_core Boost::headers
                      Threads::Threads ZLIB::ZLIB)
semel_fortify(semel_store)
add_library(semel_protocol STATIC ${protocol})
target_link_libraries(semel_protocol PRIVATE $<BUILD_INTERFACE:semel_options> PUBLIC semel_fingerprint semel_store)
semel_fortify(semel_protocol)
semel_library(auth auth semel_fingerprint)
semel_library(engine engine semel_protocol semel_asio)
semel_library(http http semel_core semel_asio fmt::fmt)
semel_library(postgres postgres semel_core semel_asio PostgreSQL::PostgreSQL fmt::fmt)

# The PostgreSQL schema is part of the program.
file(GLOB migrations CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/sql/*.sql
     ${PROJECT_SOURCE_DIR}/sql/functions/*.sql)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/migrations.cc
  COMMAND ${CMAKE_COMMAND} -DOUT=${PROJECT_BINARY_DIR}/migrations.cc -DSQL=${PROJECT_SOURCE_DIR}/sql
          -P ${PROJECT_SOURCE_DIR}/cmake/embed_sql.cmake
  DEPENDS ${migrations} ${PROJECT_SOURCE_DIR}/cmake/embed_sql.cmake)
target_sources(semel_postgres PRIVATE ${PROJECT_BINARY_DIR}/migrations.cc)
semel_library(stores stores semel_auth semel_protocol semel_engine semel_http semel_postgres RocksDB::rocksdb-shared
              PkgConfig::hiredis)
semel_library(config config semel_stores yaml-cpp)
# semel/semel.h; cmake/shared_library.cmake makes libsemel of it.
semel_library(library library semel_config semel_engine)
include(cmake/shared_library.cmake)
semel_library(telemetry telemetry semel_config prometheus-cpp::core)
semel_library(runtime runtime semel_telemetry semel_engine)
semel_library(execution execution semel_runtime)
semel_library(gateway gateway semel_execution)
semel_library(server server semel_gateway)
semel_library(admin admin semel_server)
# The console is part of the program, with Chart.js as Debian has it.
find_file(CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js NO_DEFAULT_PATH REQUIRED)
file(GLOB_RECURSE console_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/console/*)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/console.cc
  COMMAND ${CMAKE_COMMAND} -DOUT=${PROJECT_BINARY_DIR}/console.cc -DCONSOLE=${PROJECT_SOURCE_DIR}/console
          -DCHART=${CHART_JS} -P ${PROJECT_SOURCE_DIR}/cmake/embed_console.cmake
  DEPENDS ${console_files} ${CHART_JS} ${PROJECT_SOURCE_DIR}/cmake/embed_console.cmake)
target_sources(semel_admin PRIVATE ${PROJECT_BINARY_DIR}/console.cc)
semel_library(service service semel_server)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/openapi.cc
  COMMAND ${CMAKE_COMMAND} -DOUT=${PROJECT_BINARY_DIR}/openapi.cc
          -DJSON=${PROJECT_SOURCE_DIR}/src/service/openapi.json -P ${PROJECT_SOURCE_DIR}/cmake/embed_openapi.cmake
  DEPENDS ${PROJECT_SOURCE_DIR}/src/service/openapi.json ${PROJECT_SOURCE_DIR}/cmake/embed_openapi.cmake)
target_sources(semel_service PRIVATE ${PROJECT_BINARY_DIR}/openapi.cc)
semel_library(brokers brokers semel_config PkgConfig::rabbitmq PkgConfig::nats
              PkgConfig::rdkafka)
semel_library(relay relay semel_brokers semel_execution)
semel_library(consume consume semel_brokers semel_admin)
semel_library(check check semel_core OpenSSL::SSL fmt::fmt)
foreach(room engine http postgres stores config library telemetry runtime execution gateway server admin service brokers
        relay consume)
  target_precompile_headers(semel_${room} REUSE_FROM semel_asio)
endforeach()

file(GLOB_RECURSE cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/*.cc)
add_executable(semel ${cli_sources})
# CLI11 has its code in its headers, 4 seconds of it per file: the commands share it.
if(NOT CMAKE_BUILD_TYPE STREQUAL Debug)
  set_target_properties(semel PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
endif()
target_precompile_headers(semel PRIVATE ${PROJECT_SOURCE_DIR}/cmake/pch.h)
semel_fortify(semel)

target_link_libraries(semel PRIVATE semel_consume semel_service semel_relay semel_pg semel_client semel_check
                      semel_library CLI11::CLI11)
# docs/adr/0004. Sanitizers bring an allocator of their own.
add_library(semel_allocator INTERFACE)
if(NOT SEMEL_SANITIZE)
  target_link_libraries(semel_allocator INTERFACE ${JEMALLOC_LIBRARY})
endif()
target_link_libraries(semel PRIVATE semel_allocator)
