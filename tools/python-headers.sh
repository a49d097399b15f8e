#!/bin/sh
# Unpack Debian's Python headers into a folder and say, in FOLDER/environment, how the build finds them.
#   sh tools/python-headers.sh PYTHON FOLDER
set -eu
python=$1
folder=$2
version=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
help="warpath needs Python's C headers to build its core: apt-get install python3-dev"
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || { echo "$help"; exit 1; }
mkdir -p "$folder"
(cd "$folder" && apt-get download -qq "lib$version-dev") >/dev/null 2>&1 || { echo "$help"; exit 1; }
for package in "$folder"/*.deb; do dpkg-deb -x "$package" "$folder"; done
root=$(cd "$folder" && pwd)/usr/include
[ -f "$root/$version/Python.h" ] || { echo "$help"; exit 1; }
printf 'CMAKE_ARGS=-DPython_INCLUDE_DIR=%s CXXFLAGS=-I%s CFLAGS=-I%s\n' "$root/$version" "$root" "$root" >"$folder/environment"
