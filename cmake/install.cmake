# The package for find_package(semel COMPONENTS …). pg: for users of libpq. fingerprint: compares
# requests as the gateway does. consume: the consumer of messages, which needs all there is. Nothing in
# it names a folder of this machine, so it may be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(library_headers derive.h fingerprint.h key.h outcome.h policy.h record.h scope.h time.h pg.h phases.h
    completer.h inbox_result.h pg_inbox.h consume.h)
list(TRANSFORM library_headers PREPEND ${PROJECT_SOURCE_DIR}/include/semel/)
install(FILES ${library_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/semel COMPONENT library)

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
semel_install(pg pg core base)
if(SEMEL_PROGRAM)
  semel_install(fingerprint fingerprint)
  semel_install(consume consume admin brokers server gateway execution runtime telemetry config stores postgres http
                engine auth protocol asio)
endif()
write_basic_package_version_file(${PROJECT_BINARY_DIR}/semel-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/semel-config.cmake
              ${PROJECT_BINARY_DIR}/semel-config-version.cmake
        DESTINATION ${package} COMPONENT library)
