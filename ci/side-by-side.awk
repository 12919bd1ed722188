# SPDX-License-Identifier: Apache-2.0
# Called with results of `warmpool bench --json`, several of the cuda and several of the hip backend. Prints a line of
# JSON for each case that both have: the median of each backend's medians, and how many times cuda's hip's is.

function field(name, found) {
  if (!match($0, "\"" name "\":(\"[^\"]*\"|[^,}]*)")) return ""
  found = substr($0, RSTART, RLENGTH)
  sub(/^[^:]*:/, "", found)
  return found
}

# The median of the numbers in a text.
function median(text, count, list, i, j, kept) {
  count = split(text, list, " ")
  for (i = 2; i <= count; i++) {
    kept = list[i] + 0
    for (j = i - 1; j > 0 && list[j] + 0 > kept; j--) list[j + 1] = list[j]
    list[j + 1] = kept
  }
  return count % 2 ? list[(count + 1) / 2] + 0 : (list[count / 2] + list[count / 2 + 1]) / 2
}

/^\{"backend"/ {
  ns = field("ns_median")
  if (ns !~ /^[0-9.]+$/ || ns + 0 <= 0) next
  result = "\"case\":" field("case") ",\"mode\":" field("mode") ",\"bytes\":" field("bytes") ",\"sync\":" field("sync")
  if (!(result in known)) order[++results] = result
  known[result]
  backend = field("backend")
  times[backend, result] = times[backend, result] " " ns
}

END {
  for (i = 1; i <= results; i++) {
    result = order[i]
    if (!(("\"cuda\"", result) in times) || !(("\"hip\"", result) in times)) continue
    cuda = median(times["\"cuda\"", result])
    hip = median(times["\"hip\"", result])
    printf "{%s,\"cuda_ns\":%.1f,\"hip_ns\":%.1f,\"hip_to_cuda\":%.3f}\n", result, cuda, hip, hip / cuda
  }
}
