# The package for find_package(semel COMPONENTS …). pg: for users of libpq. fingerprint: compares
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
if(SEMEL_PROGRAM)
  semel_install(fingerprint fingerprint)
  semel_install(store store)
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
if(SEMEL_PROGRAM)
  # The program, with the completion scripts and manual pages that it prints itself.
  set(pages ${PROJECT_BINARY_DIR}/pages)
  add_custom_command(OUTPUT ${pages}/stamp
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${pages}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${pages}/man
    COMMAND semel man --to ${pages}/man
    COMMAND semel completion bash > ${pages}/semel
    COMMAND semel completion zsh > ${pages}/_semel
    COMMAND semel completion fish > ${pages}/semel.fish
    COMMAND ${CMAKE_COMMAND} -E touch ${pages}/stamp
    DEPENDS semel)
  add_custom_target(semel_pages ALL DEPENDS ${pages}/stamp)
  # The program keeps what it writes to itself; pages are for everybody.
  set(readable PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  install(TARGETS semel RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  install(DIRECTORY ${pages}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program
          FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ FILES_MATCHING PATTERN "*.1")
  install(FILES ${pages}/semel DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program
          ${readable})
  install(FILES ${pages}/_semel DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT program
          ${readable})
  install(FILES ${pages}/semel.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program
          ${readable})
endif()
write_basic_package_version_file(${PROJECT_BINARY_DIR}/semel-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/semel-config.cmake
              ${PROJECT_BINARY_DIR}/semel-config-version.cmake
        DESTINATION ${package} COMPONENT library)
