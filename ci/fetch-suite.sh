#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unpacks Debian packages of another suite into a folder, which needs no root and leaves the machine's own packages and
# lists alone. They come from the mirror that the machine already uses.
#
#   fetch-suite.sh SUITE FOLDER PACKAGE...
#
# A package NAME-N is the one of the names NAME-1, NAME-2 ... with the highest number. FOLDER/versions says afterwards
# what is there, one "PACKAGE VERSION" a line; where that already answers the request, nothing is done.
set -eu
suite=$1 folder=$2
shift 2
request="$suite $*"
[ "$(cat "$folder/request" 2>/dev/null)" != "$request" ] || exit 0

# shellcheck disable=SC2016 # what apt and dpkg replace, not the shell
# The first archive of Debian's own among the machine's package lists.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1)
# Where no lists are there yet, the first source.
# shellcheck disable=SC2016
[ -n "$mirror" ] || mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' | head -n 1)
if [ -z "$mirror" ]; then
  mirror=$(cat /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null |
    sed -nE 's/^URIs: *([^ ]+).*/\1/p; s/^deb +(\[[^]]*\] +)?([a-z]+:[^ ]+) .*/\2/p' | head -n 1)
fi
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
if [ -z "$mirror" ] || [ ! -e "$keyring" ]; then
  echo "fetch-suite: this machine has no Debian mirror" >&2
  exit 1
fi

rm -rf "$folder"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
state=$folder.apt
mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
echo "deb [signed-by=$keyring] $mirror $suite main" >"$state/sources.list"
: >"$state/status"
cat >"$state/apt.conf" <<END
Dir::Etc { sourcelist "$state/sources.list"; sourceparts "-"; preferences "-"; preferencesparts "-"; }
Dir::State { lists "$state/lists"; status "$state/status"; }
Dir::Cache "$state/cache";
APT::Sandbox::User "";
APT::Default-Release "";
Acquire { Retries 3; Languages "none"; }
END
APT_CONFIG=$state/apt.conf
export APT_CONFIG

apt-get -q update >"$state/log" 2>&1 || { cat "$state/log" >&2; exit 1; }
if grep -q '^[EW]: Failed' "$state/log"; then # which apt-get calls a success
  cat "$state/log" >&2
  exit 1
fi
cd "$state/cache/archives"
for package in "$@"; do
  case $package in
  *-N)
    number=$(apt-cache pkgnames "${package%N}" | sed -n "s/^${package%N}\([0-9][0-9]*\)\$/\1/p" | sort -n | tail -n 1)
    [ -n "$number" ] || { echo "fetch-suite: $suite has no $package" >&2; exit 1; }
    package=${package%N}$number
    ;;
  esac
  rm -f "$package"_*.deb
  apt-get -q download "$package" >>"$state/log" 2>&1 || { cat "$state/log" >&2; exit 1; }
  dpkg-deb --extract "$package"_*.deb "$folder"
  # shellcheck disable=SC2016
  dpkg-deb --show --showformat='${Package} ${Version}\n' "$package"_*.deb >>"$folder/versions"
  rm -f "$package"_*.deb
done
rm -rf "$state"
echo "$request" >"$folder/request"
