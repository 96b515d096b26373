# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Man pages and units say where ibsm looks for its files. In the source they name the usual places; what is installed names those that
# were chosen: ibkit_paths_in(VARIABLE ROFF), where VARIABLE has the text and ROFF says whether it is a man page's. With the places as -D,
# and FROM and TO, it is a script that does so to one man page.
function(ibkit_paths_in variable roff)
  set(text "${${variable}}")
  foreach(place
      "partitions.conf=${PARTITION_CONFIG_FILE}" "prefix-routes.conf=${PREFIX_ROUTES_FILE}"
      "qos-policy.conf=${QOS_POLICY_FILE}" "ib-node-name-map=${NODE_NAME_MAP_FILE}" "ibsm.conf=ibsm.conf")
    string(REGEX MATCH "^([^=]*)=(.*)$" pair "${place}")
    set(usual "${CMAKE_MATCH_1}")
    set(chosen "${CONF_DIR}/${CMAKE_MATCH_2}")
    if(roff)
      string(REPLACE "-" "\\-" usual "${usual}")
      string(REPLACE "-" "\\-" chosen "${chosen}")
    endif()
    string(REPLACE "/etc/ibsm/${usual}" "${chosen}" text "${text}")
  endforeach()
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  file(READ "${FROM}" text)
  ibkit_paths_in(text ON)
  file(WRITE "${TO}" "${text}")
endif()
