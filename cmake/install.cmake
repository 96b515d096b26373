# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What `cmake --install build [--prefix DIR]` puts where. ibfabric looks for its library in ../lib, as seen from its own folder, so
# that one is not the distribution's choice; everything else is.
include(GNUInstallDirs)

install(TARGETS ibsm ibtopo ibroutes ibpath ibtracer ibtracerd RUNTIME DESTINATION ${CMAKE_INSTALL_SBINDIR})
install(TARGETS ibfabric RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS ibfabric-umad LIBRARY DESTINATION lib)

foreach(section 1 7 8)
  file(GLOB pages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/doc/man/*.${section})
  install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
# The page of ibsm names the places of its files that were chosen.
foreach(place CONF_DIR PARTITION_CONFIG_FILE PREFIX_ROUTES_FILE QOS_POLICY_FILE NODE_NAME_MAP_FILE)
  install(CODE "set(${place} \"${${place}}\")")
endforeach()
install(CODE "include(\"${CMAKE_SOURCE_DIR}/cmake/paths_in.cmake\")")
install(CODE "set(page \"${CMAKE_SOURCE_DIR}/doc/man/ibsm.8\")\nset(man \"${CMAKE_INSTALL_MANDIR}\")")
install(CODE [[
  get_filename_component(man "${man}" ABSOLUTE BASE_DIR "${CMAKE_INSTALL_PREFIX}")
  file(READ "${page}" text)
  ibkit_paths_in(text ON)
  file(WRITE "$ENV{DESTDIR}${man}/man8/ibsm.8" "${text}")
]])

file(GLOB schemas CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/doc/schema/*.json)
install(FILES ${schemas} DESTINATION share/ibkit/schema)
install(FILES ${CMAKE_SOURCE_DIR}/sm/config/ibsm.bash-completion
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ibsm)

# The units name the folder that the programs are in, and the places of the files.
install(CODE "set(sbin \"${CMAKE_INSTALL_SBINDIR}\")")
install(CODE "set(units \"${CMAKE_SOURCE_DIR}/sm/daemon/ibsm.service;${CMAKE_SOURCE_DIR}/agent/ibtracerd.service\")")
install(CODE [[
  get_filename_component(sbin "${sbin}" ABSOLUTE BASE_DIR "${CMAKE_INSTALL_PREFIX}")
  foreach(unit IN LISTS units)
    get_filename_component(name "${unit}" NAME)
    set(installed "${CMAKE_INSTALL_PREFIX}/lib/systemd/system/${name}")
    message(STATUS "Installing: $ENV{DESTDIR}${installed}")
    file(READ "${unit}" text)
    string(REPLACE "ExecStart=/usr/sbin/" "ExecStart=${sbin}/" text "${text}")
    ibkit_paths_in(text OFF)
    file(WRITE "$ENV{DESTDIR}${installed}" "${text}")
  endforeach()
]])
