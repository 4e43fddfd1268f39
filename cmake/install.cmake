# What an application takes with find_package(semel): the parts that need neither Asio nor a store; and
# with COMPONENTS consume the consumer of messages, which needs all there is.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(library_headers derive.h fingerprint.h key.h outcome.h policy.h record.h scope.h time.h pg.h phases.h
    completer.h inbox_result.h pg_inbox.h consume.h)
list(TRANSFORM library_headers PREPEND ${PROJECT_SOURCE_DIR}/include/semel/)
install(FILES ${library_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/semel COMPONENT library)

set_target_properties(semel_base PROPERTIES EXPORT_NAME base)
set_target_properties(semel_core PROPERTIES EXPORT_NAME core)
set_target_properties(semel_pg PROPERTIES EXPORT_NAME pg)
target_compile_features(semel_core PUBLIC cxx_std_23)
target_include_directories(semel_core INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/semel)
install(TARGETS semel_base semel_core semel_pg EXPORT semel ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        COMPONENT library)
install(EXPORT semel NAMESPACE semel:: FILE targets.cmake DESTINATION ${package} COMPONENT library)
set(consume_parts consume admin brokers server gateway execution runtime telemetry config stores postgres http engine auth asio)
foreach(part ${consume_parts})
  set_target_properties(semel_${part} PROPERTIES EXPORT_NAME ${part})
endforeach()
list(TRANSFORM consume_parts PREPEND semel_ OUTPUT_VARIABLE consume_targets)
install(TARGETS ${consume_targets} EXPORT semel_consume ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        COMPONENT library)
install(EXPORT semel_consume NAMESPACE semel:: FILE consume_targets.cmake DESTINATION ${package}
        COMPONENT library)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/semel-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/semel-config.cmake
              ${PROJECT_BINARY_DIR}/semel-config-version.cmake
        DESTINATION ${package} COMPONENT library)
