# The package for find_package(semel COMPONENTS …). pg: for users of libpq. client: sends requests with
# a key. semel: runs a function once, over any store; needs none of the others. fingerprint: compares
# requests as the gateway does. store: for those who write a store. conformance: the tests of such a store.
# consume: the consumer of messages, which needs all there is. Nothing in it names a folder of this machine,
# so it may be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/semel DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library
        FILES_MATCHING PATTERN "*.h")

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/semel)

# One component, one file of targets, so that each asks only for what it uses.
function(semel_install component)
  list(TRANSFORM ARGN PREPEND semel_ OUTPUT_VARIABLE targets)
  foreach(part ${ARGN})
    set_target_properties(semel_${part} PROPERTIES EXPORT_NAME ${part})
  endforeach()
  install(TARGETS ${targets} EXPORT semel_${component} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          COMPONENT library)
  install(EXPORT semel_${component} NAMESPACE semel:: FILE ${component}_targets.cmake DESTINATION ${package}
          COMPONENT library)
endfunction()
semel_install(core core base)
semel_install(pg pg)
semel_install(client client)
if(SEMEL_PROGRAM)
  semel_install(fingerprint fingerprint)
  semel_install(store store)
  install(TARGETS semel_shared EXPORT semel_semel LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
          NAMELINK_COMPONENT library)
  install(EXPORT semel_semel NAMESPACE semel:: FILE semel_targets.cmake DESTINATION ${package} COMPONENT library)
  if(NOT SEMEL_SANITIZE)
    install(FILES ${PROJECT_BINARY_DIR}/libsemel.a DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
  endif()
  file(RELATIVE_PATH includes /${CMAKE_INSTALL_LIBDIR}/pkgconfig /${CMAKE_INSTALL_INCLUDEDIR})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/semel.pc.in ${PROJECT_BINARY_DIR}/semel.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/semel.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
  # Sources, so that the suite is compiled with the compiler, the GoogleTest and the Asio of whoever asks for it, and
  # the linker drops no test.
  set(suite ${CMAKE_INSTALL_DATADIR}/semel-conformance)
  file(GLOB suite_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/conformance/*.h
       ${PROJECT_SOURCE_DIR}/tests/conformance/*.cc)
  install(FILES ${suite_files} DESTINATION ${suite}/semel/conformance COMPONENT library)
  add_library(semel_conformance INTERFACE)
  target_include_directories(semel_conformance INTERFACE $<INSTALL_INTERFACE:${suite}>)
  target_link_libraries(semel_conformance INTERFACE semel_store GTest::gtest)
  foreach(file ${suite_files})
    if(file MATCHES "([^/]+\\.cc)$")
      target_sources(semel_conformance INTERFACE
                     $<INSTALL_INTERFACE:$<INSTALL_PREFIX>/${suite}/semel/conformance/${CMAKE_MATCH_1}>)
    endif()
  endforeach()
  semel_install(conformance conformance)
  semel_install(consume consume admin brokers server gateway execution runtime telemetry config stores postgres http
                engine auth protocol asio)
endif()
write_basic_package_version_file(${PROJECT_BINARY_DIR}/semel-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/semel-config.cmake
              ${PROJECT_BINARY_DIR}/semel-config-version.cmake
        DESTINATION ${package} COMPONENT library)
if(SEMEL_PROGRAM)
  include(cmake/install_program.cmake)
endif()
