# SPDX-License-Identifier: Apache-2.0
# Reads the sources of the tests and prints a line "SUITE::TEST NEED" for each test that cannot run beside others on one
# device: alone, two, or two-alone. A test of both contracts is named once, without its contract. What a test needs is what
# its body names, or what a function of its file does that it names:
#   need_devices                     a second device;
#   device_total(), device_memory()  it asks for all of the device, and others would find none;
#   device_free, twice               it compares the device's free memory, which others change;
#   fork() in a loop                 twenty contexts, one after the other, within the time that a test has.
# Called with tests/facts/*.c and tests/conformance/*.c but for conformance.c, which defines these.

function end_of_function(   i, n, word) {
  n = split(body, word, /[^A-Za-z0-9_]+/)
  for (i = 1; i <= n; i++) {
    if (word[i] == "need_devices") two[name] = 1
    named[name] = named[name] " " word[i]
  }
  if (body ~ /[^A-Za-z0-9_.](device_total|device_memory)\(/ || body ~ /device_free.*device_free/ ||
      body ~ /for \(.*[^A-Za-z0-9_]fork\(\)/) alone[name] = 1
  body = name = ""
}

FNR == 1 { body = name = "" }

/^[A-Za-z].*\(.*\{/ {
  name = $0
  if (sub(/^(Test|BOTH_CONTRACTS)\(/, "", name)) {
    suite = test = name
    sub(/,.*/, "", suite)
    sub(/^[^,]*, */, "", test)
    sub(/[^A-Za-z0-9_].*/, "", test)
    name = suite "::" test
    if (!(name in is_test)) order[++tests] = name
    is_test[name] = 1
  } else {
    sub(/\(.*/, "", name)
    sub(/.*[^A-Za-z0-9_]/, "", name)
  }
  name = FILENAME SUBSEP name
  functions[name] = FILENAME
}
name != "" { body = body "\n" $0 }
name != "" && (/^\}/ || /\}$/ && body !~ /\n.*\n/) { end_of_function() }

END {
  do { # what a function names, it needs as well
    changed = 0
    for (function_ in named) {
      file = functions[function_]
      n = split(named[function_], word, " ")
      for (i = 1; i <= n; i++) {
        other = file SUBSEP word[i]
        if ((other in two) && !(function_ in two)) changed = two[function_] = 1
        if ((other in alone) && !(function_ in alone)) changed = alone[function_] = 1
      }
    }
  } while (changed)
  for (function_ in functions) {
    split(function_, part, SUBSEP)
    if (!(part[2] in is_test)) continue
    if (function_ in two) need[part[2]] = (function_ in alone) ? "two-alone" : "two"
    else if (function_ in alone) need[part[2]] = "alone"
  }
  for (i = 1; i <= tests; i++) if (order[i] in need) print order[i], need[order[i]]
}
