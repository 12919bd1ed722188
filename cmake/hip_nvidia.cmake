# SPDX-License-Identifier: Apache-2.0
# HIP on NVIDIA's GPUs, as WARMPOOL_DRIVER: HIP's headers, whose functions are there inline calls of CUDA's. They are those
# of HIP 5.7, the last for NVIDIA that Debian has. The one that C and CUDA 13 stumble over is put right in a copy below
# the build folder. C only: nothing here is compiled by hipcc or nvcc.
include(${CMAKE_CURRENT_LIST_DIR}/cudart.cmake)
if(NOT CUDAToolkit_FOUND)
  message(FATAL_ERROR "HIP's headers for NVIDIA need those of a CUDA toolkit, also with WARMPOOL_CUDART=sim")
endif()

set(hip_header hip/nvidia_detail/nvidia_hip_runtime_api.h)
find_path(WARMPOOL_HIP_INCLUDE_DIR ${hip_header} ${hip_hints} PATH_SUFFIXES include)
mark_as_advanced(WARMPOOL_HIP_INCLUDE_DIR)
if(NOT WARMPOOL_HIP_INCLUDE_DIR)
  message(FATAL_ERROR "WARMPOOL_HIP_ROOT says where HIP's headers for NVIDIA are (Debian 13: libamdhip64-dev; from "
    "elsewhere, sh ci/fetch-suite.sh trixie FOLDER libamdhip64-dev unpacks them in FOLDER/usr)")
endif()
warmpool_hip_version(hip_version)
if(NOT hip_version MATCHES "^5\\.7$")
  message(FATAL_ERROR "For NVIDIA it takes HIP's headers of 5.7; in ${WARMPOOL_HIP_INCLUDE_DIR} are those of ${hip_version}")
endif()
set(hip_original ${WARMPOOL_HIP_INCLUDE_DIR}/${hip_header})
file(READ ${hip_original} hip_text)

# hip_replace(OLD NEW): in the header's text, where OLD must be there once.
function(hip_replace old new)
  string(REPLACE "${old}" "" without "${hip_text}")
  string(LENGTH "${hip_text}" length)
  string(LENGTH "${without}" rest)
  string(LENGTH "${old}" each)
  math(EXPR once "${rest} + ${each}")
  if(NOT length EQUAL once)
    message(FATAL_ERROR "${hip_original} is not the header that is known here: this is not in it, or more than once:\n${old}")
  endif()
  string(REPLACE "${old}" "${new}" text "${hip_text}")
  set(hip_text "${text}" PARENT_SCOPE)
endfunction()

# hip_before_13(CODE OTHERWISE): does not compile with CUDA 13, which lacks it or has it with other parameters. The library
# calls nothing of it.
function(hip_before_13 code otherwise)
  hip_replace("${code}" "\n#if CUDA_VERSION < 13000\n${code}\n#else\n${otherwise}\n#endif\n")
  set(hip_text "${hip_text}" PARENT_SCOPE)
endfunction()

foreach(field clockRate computeMode memoryClockRate)
  hip_before_13("cdprop.${field} = prop->${field};" "")
endforeach()
foreach(assignment "clockRate = cdprop.clockRate" "memoryClockRate = cdprop.memoryClockRate"
                   "clockInstructionRate = cdprop.clockRate" "computeMode = cdprop.computeMode"
                   "cooperativeMultiDeviceLaunch = cdprop.cooperativeMultiDeviceLaunch"
                   "kernelExecTimeoutEnabled = cdprop.kernelExecTimeoutEnabled")
  string(REGEX REPLACE " =.*" " = 0;" nothing "${assignment}")
  hip_before_13("p_prop->${assignment};" "p_prop->${nothing}")
endforeach()
set(hip_refuse "return hipErrorNotSupported;")
hip_before_13("cdattr = cudaDevAttrCooperativeMultiDeviceLaunch;" "${hip_refuse}")
hip_before_13("return hipCUDAErrorTohipError(cudaMemAdvise(dev_ptr, count,
        hipMemoryAdviseTocudaMemoryAdvise(advice), device));" "${hip_refuse}")
hip_before_13("return hipCUDAErrorTohipError(cudaMemPrefetchAsync(dev_ptr, count, device, stream));" "${hip_refuse}")
hip_before_13("return hipCUResultTohipError(cuCtxCreate(ctx, flags, device));" "${hip_refuse}")
hip_before_13("return hipCUDAErrorTohipError(cudaLaunchCooperativeKernelMultiDevice(launchParamsList, numDevices, flags));"
  "${hip_refuse}")
# C has no such auto.
hip_replace("auto memType = cPA.type;" "enum cudaMemoryType memType = cPA.type;")
hip_replace("auto err = hipCUResultTohipError(cuStreamGetCtx" "hipError_t err = hipCUResultTohipError(cuStreamGetCtx")
# What is there for C++ alone, though much of it is C.
hip_replace("\n#ifdef __CUDACC__\n" "\n#ifndef __CUDACC__\n#include \"nvidia_c.h\"\n#else\n")

set(hip_copies ${PROJECT_BINARY_DIR}/hip-nvidia/include)
file(WRITE ${PROJECT_BINARY_DIR}/hip-nvidia/header "${hip_text}")
cmake_path(GET hip_header PARENT_PATH hip_folder)
file(MAKE_DIRECTORY ${hip_copies}/${hip_folder})
file(COPY_FILE ${PROJECT_BINARY_DIR}/hip-nvidia/header ${hip_copies}/${hip_header} ONLY_IF_DIFFERENT)
configure_file(src/hip/nvidia_c.h ${hip_copies}/${hip_folder}/nvidia_c.h COPYONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${hip_original})

message(STATUS "HIP ${hip_version} on CUDA ${CUDAToolkit_VERSION}: ${WARMPOOL_HIP_INCLUDE_DIR}")
add_library(warmpool::hip INTERFACE IMPORTED)
set_target_properties(warmpool::hip PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES "${hip_copies};${WARMPOOL_HIP_INCLUDE_DIR};${CUDAToolkit_INCLUDE_DIRS}"
  INTERFACE_COMPILE_DEFINITIONS __HIP_PLATFORM_NVIDIA__
  INTERFACE_LINK_LIBRARIES ${WARMPOOL_DRIVER})
set(WARMPOOL_DRIVER warmpool::hip)
