# SPDX-License-Identifier: Apache-2.0
# How tests are built and registered with CTest.

# Text that fails a test whatever its exit status: Criterion calls a run that selected no test, one in which a sanitizer
# found a leak, and one in which a fixture's assertion failed, a success.
set(WARMPOOL_FAILING_TEXT "Tested: 0 ;crashed during its setup or teardown;bytes did not go back;bytes were left live;bytes are pending in the end;LeakSanitizer;AddressSanitizer;ThreadSanitizer;runtime error:")
set(WARMPOOL_TEST_ENVIRONMENT)
if(WARMPOOL_SIMULATED)
  list(APPEND WARMPOOL_TEST_ENVIRONMENT WARMPOOL_HOST_DEVICES=2)
endif()
if(WARMPOOL_ON_CUDA)
  # With fewer connections, streams that a test stalls stall others.
  list(APPEND WARMPOOL_TEST_ENVIRONMENT CUDA_DEVICE_MAX_CONNECTIONS=32)
endif()
if(WARMPOOL_BACKEND STREQUAL "hip" AND NOT WARMPOOL_ON_CUDA)
  # Two devices of the stand-in's; the rest is what the rig asks of AMD's runtime.
  list(APPEND WARMPOOL_TEST_ENVIRONMENT SOFTHSA_GPUS=2 GPU_MAX_HW_QUEUES=32 GPU_STREAMOPS_CP_WAIT=1)
endif()

function(warmpool_require_criterion)
  find_path(CRITERION_INCLUDE_DIR criterion/criterion.h)
  find_library(CRITERION_LIBRARY criterion)
  if(NOT CRITERION_INCLUDE_DIR OR NOT CRITERION_LIBRARY)
    message(FATAL_ERROR "The tests need Criterion (Debian: libcriterion-dev); WARMPOOL_TESTS=OFF builds without them")
  endif()
  add_library(criterion INTERFACE)
  target_include_directories(criterion SYSTEM INTERFACE ${CRITERION_INCLUDE_DIR})
  target_link_libraries(criterion INTERFACE ${CRITERION_LIBRARY})
  if(UNIX AND NOT APPLE)
    add_library(criterion_rig OBJECT ${PROJECT_SOURCE_DIR}/tests/rig/criterion.c)
    warmpool_compile_options(criterion_rig)
    target_include_directories(criterion_rig SYSTEM PRIVATE ${CRITERION_INCLUDE_DIR})
    target_sources(criterion INTERFACE $<TARGET_OBJECTS:criterion_rig>)
    foreach(function mbedtls_x509_crt_parse_file mbedtls_x509_crt_parse_path)
      target_link_options(criterion INTERFACE LINKER:--export-dynamic-symbol=${function})
    endforeach()
  endif()
  # The assertions are most of a test program's code and of the time that compiling takes; what is tested is optimised.
  # Under a sanitizer, which makes the tests slow, they are, too, and there the compiler warns of what it sees then.
  if(NOT WARMPOOL_SANITIZE)
    target_compile_options(criterion INTERFACE -O0)
  endif()
endfunction()

# The options common to all test programs. They may use what the system offers beyond C11.
function(warmpool_test_program name sources libs)
  add_executable(${name} ${sources})
  warmpool_compile_options(${name})
  set_target_properties(${name} PROPERTIES C_EXTENSIONS ON)
  target_link_libraries(${name} PRIVATE ${libs} Threads::Threads)
endfunction()

# warmpool_test(NAME LABEL label SOURCES file... LIBS target... [INCLUDES dir...] [DEFINITIONS name=value...]
#               [TIMEOUT seconds])
# One Criterion program, one CTest entry. No sources, no test.
function(warmpool_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;TIMEOUT" "SOURCES;LIBS;INCLUDES;DEFINITIONS")
  if(NOT arg_SOURCES)
    return()
  endif()
  warmpool_test_program(${name} "${arg_SOURCES}" "${arg_LIBS};criterion")
  target_include_directories(${name} PRIVATE ${arg_INCLUDES})
  target_compile_definitions(${name} PRIVATE ${arg_DEFINITIONS})
  target_compile_options(${name} PRIVATE -Wno-conversion) # Criterion's assertions assign int to a bit-field
  warmpool_add_test(${name} ${name})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  warmpool_test_properties(${name} ${arg_LABEL} ${arg_TIMEOUT})
endfunction()

# Each Criterion test is a process of its own; beside one another they would fight for a real device.
function(warmpool_add_test name program)
  set(jobs 1)
  if(WARMPOOL_SIMULATED)
    set(jobs 2)
  endif()
  add_test(NAME ${name} COMMAND ${program} --verbose=1 --color=never --short-filename --jobs ${jobs} --timeout 60)
endfunction()

# warmpool_test_again(NAME PROGRAM LABEL label ENVIRONMENT variable=value... [TIMEOUT seconds])
# A test program once more, with other settings.
function(warmpool_test_again name program)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "LABEL;TIMEOUT" "ENVIRONMENT")
  if(NOT TARGET ${program})
    return()
  endif()
  warmpool_add_test(${name} ${program})
  warmpool_test_properties(${name} ${arg_LABEL} ${arg_TIMEOUT})
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT ${arg_ENVIRONMENT})
endfunction()

# warmpool_plain_test(NAME LABEL label SOURCES file... LIBS target... ARGS argument... [TIMEOUT seconds])
# A program with a main() of its own, which exits with 0 where all is well.
function(warmpool_plain_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;TIMEOUT" "SOURCES;LIBS;ARGS")
  if(NOT arg_SOURCES)
    return()
  endif()
  warmpool_test_program(${name} "${arg_SOURCES}" "${arg_LIBS}")
  add_test(NAME ${name} COMMAND ${name} ${arg_ARGS})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  warmpool_test_properties(${name} ${arg_LABEL} ${arg_TIMEOUT})
endfunction()

function(warmpool_test_properties name label timeout)
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${timeout}
    FAIL_REGULAR_EXPRESSION "${WARMPOOL_FAILING_TEXT}" ENVIRONMENT "${WARMPOOL_TEST_ENVIRONMENT}")
endfunction()
