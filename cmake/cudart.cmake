# SPDX-License-Identifier: Apache-2.0
# The CUDA runtime that the cuda backend is linked with, and the hip backend for NVIDIA, as WARMPOOL_DRIVER. C only:
# nothing here is compiled by nvcc.
if(WARMPOOL_CUDART STREQUAL "toolkit")
  find_package(CUDAToolkit 11.8 REQUIRED)
  set(WARMPOOL_DRIVER CUDA::cudart)
  return()
endif()

# The stand-in: the host engine with the runtime's functions in front. A shared library, as the real one is, so that
# library and program share its state; it shows nothing but those functions. NVIDIA's header is used where there is one.
find_package(CUDAToolkit 11.8 QUIET)
if(CUDAToolkit_FOUND)
  set(cudart_headers ${CUDAToolkit_INCLUDE_DIRS})
  message(STATUS "cudart_sim: with the header of CUDA ${CUDAToolkit_VERSION}")
else()
  set(cudart_headers ${PROJECT_SOURCE_DIR}/tests/cudart_sim/include)
  message(STATUS "cudart_sim: with a header of its own")
endif()

file(GLOB cudart_sources CONFIGURE_DEPENDS tests/cudart_sim/*.c src/host/*.c)
list(FILTER cudart_sources EXCLUDE REGEX "/src/host/(backend|host_api)\\.c$")
add_library(cudart_sim SHARED ${cudart_sources} src/common/os_posix.c src/common/bytes.c)
warmpool_compile_options(cudart_sim)
set_target_properties(cudart_sim PROPERTIES C_EXTENSIONS ON EXPORT_COMPILE_COMMANDS OFF
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/cudart_sim.map)
target_include_directories(cudart_sim SYSTEM PUBLIC ${cudart_headers})
target_include_directories(cudart_sim PRIVATE tests/cudart_sim src/host src/common include ${PROJECT_BINARY_DIR}/include)
target_link_libraries(cudart_sim PRIVATE Threads::Threads)
target_link_options(cudart_sim PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/cudart_sim.map)
if(NOT WARMPOOL_SANITIZE)
  target_link_options(cudart_sim PRIVATE LINKER:--no-undefined)
endif()
set(WARMPOOL_DRIVER cudart_sim)
