# libsemel, for semel/semel.h: a shared library and a static one, which show nothing but cmake/libsemel.symbols. What they
# are made of stays inside, so a program may have another Asio, another standard of C++ and another compiler.
set(symbols_file ${PROJECT_SOURCE_DIR}/cmake/libsemel.symbols)
file(STRINGS ${symbols_file} symbols)
list(JOIN symbols ";\n    " symbols)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/libsemel.map
     CONTENT "SEMEL_1 {\n  global:\n    @symbols@;\n  local:\n    *;\n};\n" @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${symbols_file})

# semel_core as a whole: programs call what nothing in here calls, such as Claim::derive.
add_library(semel_shared SHARED $<TARGET_OBJECTS:semel_library> $<TARGET_OBJECTS:semel_core>)
add_library(semel::semel ALIAS semel_shared)
set_target_properties(semel_shared PROPERTIES OUTPUT_NAME semel EXPORT_NAME semel VERSION 1.0 SOVERSION 1
                      LINKER_LANGUAGE CXX LINK_DEPENDS ${PROJECT_BINARY_DIR}/libsemel.map)
target_link_libraries(semel_shared PRIVATE semel_options semel_config semel_engine)
target_link_options(semel_shared PRIVATE -Wl,--version-script=${PROJECT_BINARY_DIR}/libsemel.map -Wl,--gc-sections)
if(NOT SEMEL_SANITIZE)  # the functions of a sanitizer are in the program
  target_link_options(semel_shared PRIVATE -Wl,--no-undefined)
endif()
target_compile_features(semel_shared PUBLIC cxx_std_17)
target_include_directories(semel_shared INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                           $<INSTALL_INTERFACE:include>)

# All objects in one, with all other symbols made local.
if(NOT SEMEL_SANITIZE)
  find_program(SEMEL_LD ld.bfd REQUIRED)
  set(rooms config stores postgres http engine auth protocol store fingerprint base asio)
  list(TRANSFORM rooms REPLACE "(.+)" "$<TARGET_FILE:semel_\\1>" OUTPUT_VARIABLE archives)
  list(TRANSFORM rooms PREPEND semel_ OUTPUT_VARIABLE room_targets)
  set(static ${PROJECT_BINARY_DIR}/libsemel.a)
  add_custom_command(OUTPUT ${static}
    COMMAND ${SEMEL_LD} -r --force-group-allocation -o libsemel.o --whole-archive $<TARGET_FILE:semel_library>
            $<TARGET_FILE:semel_core> --no-whole-archive --start-group ${archives} --end-group
    COMMAND ${CMAKE_OBJCOPY} --keep-global-symbols=${symbols_file} libsemel.o
    COMMAND ${CMAKE_COMMAND} -E rm -f ${static}
    COMMAND ${CMAKE_AR} qcs ${static} libsemel.o
    COMMAND ${CMAKE_COMMAND} -E rm -f libsemel.o
    DEPENDS semel_library semel_core ${room_targets} ${symbols_file}
    WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
    VERBATIM)
  add_custom_target(semel_static ALL DEPENDS ${static})
endif()
