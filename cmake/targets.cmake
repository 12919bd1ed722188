# SPDX-License-Identifier: Apache-2.0
find_package(Threads REQUIRED)

# The language and the warnings that everything here is compiled with.
function(warmpool_compile_options target)
  set_target_properties(${target} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
    $<$<BOOL:${WARMPOOL_WERROR}>:-Werror>)
endfunction()

# warmpool_library(NAME SHARED|STATIC): the library, from all its sources.
function(warmpool_library target type)
  add_library(${target} ${type} ${WARMPOOL_SOURCES})
  add_library(warmpool::${target} ALIAS ${target})
  warmpool_compile_options(${target})
  if(WARMPOOL_COVERAGE)
    target_compile_options(${target} PRIVATE --coverage -fprofile-update=atomic -O0)
  endif()
  set_target_properties(${target} PROPERTIES C_VISIBILITY_PRESET hidden EXPORT_COMPILE_COMMANDS OFF)
  target_compile_definitions(${target} PRIVATE WARMPOOL_BUILDING)
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    PRIVATE ${PROJECT_SOURCE_DIR}/src/common ${PROJECT_SOURCE_DIR}/src/${WARMPOOL_BACKEND})
  target_link_libraries(${target} PRIVATE Threads::Threads ${WARMPOOL_DRIVER})
endfunction()
