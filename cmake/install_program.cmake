# The program, its pages, a first configuration, its units and its documents: `cmake --install build --component program`.
install(TARGETS semel RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)

# Completion scripts and manual pages, which the program prints itself.
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
install(DIRECTORY ${pages}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program
        FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ FILES_MATCHING PATTERN "*.1")
install(FILES ${pages}/semel DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program
        ${readable})
install(FILES ${pages}/_semel DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT program
        ${readable})
install(FILES ${pages}/semel.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program
        ${readable})

set(documents ${CMAKE_INSTALL_DATADIR}/doc/semel)
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${documents}
        COMPONENT program)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${documents} COMPONENT program FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png")
file(GLOB examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.yaml)
install(FILES ${examples} DESTINATION ${documents}/examples COMPONENT program)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/conventions DESTINATION ${documents}/examples COMPONENT program)

# These name paths of the installation, so they are made when its prefix is known.
install(CODE "set(semel_source \"${PROJECT_SOURCE_DIR}\")\nset(semel_binary \"${PROJECT_BINARY_DIR}\")"
        COMPONENT program)
install(SCRIPT ${PROJECT_SOURCE_DIR}/cmake/install_settings.cmake COMPONENT program)
