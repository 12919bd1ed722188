# SPDX-License-Identifier: Apache-2.0
# What can be chosen when the library is built.

set(WARMPOOL_BACKENDS host cuda hip)
set(WARMPOOL_BACKEND host CACHE STRING "The driver the library is built for: a folder of src/")
set_property(CACHE WARMPOOL_BACKEND PROPERTY STRINGS ${WARMPOOL_BACKENDS})
if(NOT WARMPOOL_BACKEND IN_LIST WARMPOOL_BACKENDS)
  list(JOIN WARMPOOL_BACKENDS ", " choice)
  message(FATAL_ERROR "WARMPOOL_BACKEND is \"${WARMPOOL_BACKEND}\"; this version of warmpool has: ${choice}")
endif()

# The hip backend's GPUs: AMD's, or NVIDIA's, where the CUDA runtime is below HIP's names.
set(WARMPOOL_HIP_PLATFORM amd CACHE STRING "Whose GPUs the hip backend is for: amd or nvidia")
set_property(CACHE WARMPOOL_HIP_PLATFORM PROPERTY STRINGS amd nvidia)
if(NOT WARMPOOL_HIP_PLATFORM MATCHES "^(amd|nvidia)$")
  message(FATAL_ERROR "WARMPOOL_HIP_PLATFORM is \"${WARMPOOL_HIP_PLATFORM}\"; it can be: amd, nvidia")
endif()
set(WARMPOOL_ON_CUDA OFF) # whether the CUDA runtime is below
if(WARMPOOL_BACKEND STREQUAL "cuda" OR (WARMPOOL_BACKEND STREQUAL "hip" AND WARMPOOL_HIP_PLATFORM STREQUAL "nvidia"))
  set(WARMPOOL_ON_CUDA ON)
endif()

# That runtime: NVIDIA's own, or the stand-in of tests/cudart_sim, which needs no GPU and is for tests only.
set(WARMPOOL_CUDART toolkit CACHE STRING "What is linked where the CUDA runtime is below: toolkit or sim")
set_property(CACHE WARMPOOL_CUDART PROPERTY STRINGS toolkit sim)
if(NOT WARMPOOL_CUDART MATCHES "^(toolkit|sim)$")
  message(FATAL_ERROR "WARMPOOL_CUDART is \"${WARMPOOL_CUDART}\"; it can be: toolkit, sim")
endif()
# The hip backend's runtime. AMD's own runs on a GPU, or on the stand-in for the library below it, which tests use. For
# NVIDIA there are headers only.
set(WARMPOOL_HIP_ROOT "" CACHE PATH "Where HIP is: the folder of its include and lib; empty: where the system has it")
# Devices that are only memory: tests can run beside one another.
set(WARMPOOL_SIMULATED ON)
if(WARMPOOL_ON_CUDA AND WARMPOOL_CUDART STREQUAL "toolkit")
  set(WARMPOOL_SIMULATED OFF)
endif()

option(WARMPOOL_TESTS "Build the tests (needs Criterion)" ${PROJECT_IS_TOP_LEVEL})
option(WARMPOOL_EXAMPLES "Build the programs in examples/" ${PROJECT_IS_TOP_LEVEL})
option(WARMPOOL_TOOLS "Build the command line tool, with the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(WARMPOOL_INSTALL "Make the install target" ${PROJECT_IS_TOP_LEVEL})
option(WARMPOOL_WERROR "Warnings are errors" OFF)
option(WARMPOOL_COVERAGE "Count which lines run (gcov)" OFF)
set(WARMPOOL_SANITIZE "" CACHE STRING "What -fsanitize= gets: \"address,undefined\", \"thread\", or nothing")
set(WARMPOOL_STRESS_SECONDS 2 CACHE STRING "How long the stress tests run under CTest")
set(WARMPOOL_RANDOM_SECONDS 20 CACHE STRING "How long random programs run under CTest, in all")
set(WARMPOOL_SWEEP_SECONDS 20 CACHE STRING "How long the fault sweep runs under CTest at most; 0: to its end")

get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT multi_config)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

if(WARMPOOL_SANITIZE)
  add_compile_options(-fsanitize=${WARMPOOL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -O1)
  add_link_options(-fsanitize=${WARMPOOL_SANITIZE})
endif()
if(WARMPOOL_COVERAGE)
  add_link_options(--coverage) # the library is compiled for it (warmpool_library): each test writes a file for each source
endif()
