# SPDX-License-Identifier: Apache-2.0
# Headers, both libraries, and what find_package() and pkg-config need. Nothing installed knows an absolute path,
# but for the CUDA toolkit's or HIP's libraries in warmpool.pc.
include(CMakePackageConfigHelpers)

set(backend_headers host.h cuda.h hip.h)
list(REMOVE_ITEM backend_headers ${WARMPOOL_BACKEND}.h)
list(TRANSFORM backend_headers REPLACE ".+" "PATTERN;\\0;EXCLUDE")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/warmpool DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" ${backend_headers})
install(FILES ${PROJECT_BINARY_DIR}/include/warmpool/version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/warmpool)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(TARGETS warmpool warmpool_static EXPORT warmpoolTargets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/warmpool)
install(EXPORT warmpoolTargets NAMESPACE warmpool:: DESTINATION ${package_dir})
configure_package_config_file(cmake/warmpoolConfig.cmake.in warmpoolConfig.cmake INSTALL_DESTINATION ${package_dir}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(warmpoolConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/warmpoolConfig.cmake ${PROJECT_BINARY_DIR}/warmpoolConfigVersion.cmake
  DESTINATION ${package_dir})

file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH pc_libdir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH pc_includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
set(pc_stays_loaded)
if(UNIX AND NOT APPLE)
  set(pc_stays_loaded " -Wl,-z,nodelete")
endif()
set(pc_driver_libs)
if(WARMPOOL_ON_CUDA)
  set(pc_driver_libs " -L${CUDAToolkit_LIBRARY_DIR} -lcudart")
elseif(WARMPOOL_BACKEND STREQUAL "hip")
  cmake_path(GET WARMPOOL_HIP_LIBRARY PARENT_PATH hip_library_dir)
  set(pc_driver_libs " -L${hip_library_dir} -lamdhip64")
endif()
configure_file(cmake/warmpool.pc.in warmpool.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/warmpool.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
