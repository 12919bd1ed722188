# SPDX-License-Identifier: Apache-2.0
# The HIP runtime that the hip backend is linked with, as WARMPOOL_DRIVER. C only: nothing here is compiled by hipcc.
set(hip_hints)
if(WARMPOOL_HIP_ROOT)
  set(hip_hints HINTS ${WARMPOOL_HIP_ROOT} NO_DEFAULT_PATH)
endif()

# warmpool_hip_version(OUT): of the headers in WARMPOOL_HIP_INCLUDE_DIR, as "5.7".
function(warmpool_hip_version out)
  file(STRINGS ${WARMPOOL_HIP_INCLUDE_DIR}/hip/hip_version.h version REGEX "define HIP_VERSION_(MAJOR|MINOR)")
  list(TRANSFORM version REPLACE "[^0-9]" "")
  list(JOIN version "." version)
  set(${out} ${version} PARENT_SCOPE)
endfunction()

if(WARMPOOL_HIP_PLATFORM STREQUAL "nvidia")
  include(${CMAKE_CURRENT_LIST_DIR}/hip_nvidia.cmake)
  return()
endif()

find_path(WARMPOOL_HIP_INCLUDE_DIR hip/hip_runtime_api.h ${hip_hints} PATH_SUFFIXES include)
find_library(WARMPOOL_HIP_LIBRARY amdhip64 ${hip_hints} PATH_SUFFIXES lib lib/${CMAKE_LIBRARY_ARCHITECTURE})
mark_as_advanced(WARMPOOL_HIP_INCLUDE_DIR WARMPOOL_HIP_LIBRARY)
if(NOT WARMPOOL_HIP_INCLUDE_DIR OR NOT WARMPOOL_HIP_LIBRARY)
  message(FATAL_ERROR "The hip backend needs AMD's runtime (Debian: libamdhip64-dev); WARMPOOL_HIP_ROOT says where it is")
endif()

warmpool_hip_version(hip_version)
message(STATUS "HIP ${hip_version}: ${WARMPOOL_HIP_LIBRARY}")
add_library(warmpool::hip UNKNOWN IMPORTED)
set_target_properties(warmpool::hip PROPERTIES IMPORTED_LOCATION ${WARMPOOL_HIP_LIBRARY}
  INTERFACE_INCLUDE_DIRECTORIES ${WARMPOOL_HIP_INCLUDE_DIR} # of an imported target: no warnings
  INTERFACE_COMPILE_DEFINITIONS __HIP_PLATFORM_AMD__)
set(WARMPOOL_DRIVER warmpool::hip)
