# Run by `cmake --install`, with semel_source and semel_binary set: installs what names paths of the installation, the
# units and a first configuration. An existing configuration is left alone.
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(etc /etc)
else()
  set(etc ${CMAKE_INSTALL_PREFIX}/etc)
endif()

# Installs the file `from` of this tree as `to`, with its paths replaced.
function(semel_install_settings from to)
  file(READ ${semel_source}/${from} text)
  string(REPLACE "/usr/bin/semel" "${CMAKE_INSTALL_PREFIX}/bin/semel" text "${text}")
  string(REPLACE "/usr/share/" "${CMAKE_INSTALL_PREFIX}/share/" text "${text}")
  string(REPLACE "/etc/" "${etc}/" text "${text}")
  string(REPLACE ":-./semel-data}" ":-/var/lib/semel/data}" text "${text}")  # the folder that the unit may write to
  get_filename_component(name ${to} NAME)
  get_filename_component(folder ${to} DIRECTORY)
  file(WRITE ${semel_binary}/installed/${name} "${text}")
  file(INSTALL ${semel_binary}/installed/${name} DESTINATION ${folder})
endfunction()

semel_install_settings(contrib/systemd/semel.service ${CMAKE_INSTALL_PREFIX}/lib/systemd/system/semel.service)
semel_install_settings(contrib/systemd/semel.socket ${CMAKE_INSTALL_PREFIX}/lib/systemd/system/semel.socket)
if(EXISTS $ENV{DESTDIR}${etc}/semel/semel.yaml)
  message(STATUS "Kept: $ENV{DESTDIR}${etc}/semel/semel.yaml")
else()
  semel_install_settings(examples/payments.yaml ${etc}/semel/semel.yaml)
endif()
