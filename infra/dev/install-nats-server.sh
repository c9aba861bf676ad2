#!/bin/sh
# Prints the path of a usable nats-server on stdout; everything else goes to stderr.
#
#   install-nats-server.sh [--version newest|2.9]
#
# `newest` (the default) looks, in this order, at
#   1. $NATS_SERVER_BIN
#   2. var/bin, where an earlier run left one
#   3. PATH, when that one is at least 2.14
#   4. Debian testing: its package needs only glibc 2.34, so it runs on Debian 12 and newer
#   5. whatever older server PATH or the distribution offers, with a warning
# `2.9` fetches the server of Debian 12, which the compatibility tests run against.
#
# Nothing on the system changes: apt works on its own lists in a temporary folder, and the
# package is unpacked into var/bin instead of being installed. So it needs no root either.
set -eu

NEWEST_SUITE=forky
OLD_SUITE=bookworm
MIN_MINOR=14
RETRY_AFTER_MINUTES=1440

here=$(cd "$(dirname "$0")" && pwd)
bin_dir=${GUILDHALL_VAR:-$here/../../var}/bin

say() { printf '%s\n' "nats-server: $*" >&2; }
fail() { say "$*"; exit 1; }

# "2.15.1", or nothing when the file does not run.
version_of() { "$1" -v 2>/dev/null | sed -n 's/^nats-server: v\{0,1\}\([0-9][0-9.]*\).*/\1/p'; }

is_new() {
  case $1 in
    2.*) minor=${1#2.}; minor=${minor%%.*}; [ "$minor" -ge "$MIN_MINOR" ] ;;
    [3-9].*) true ;;
    *) false ;;
  esac
}

# Finished: the one line that the caller reads.
use() { printf '%s\n' "$1"; exit 0; }

# The highest cached version that matches; the name of a cached file carries its version.
cached() {
  for file in $(ls "$bin_dir" 2>/dev/null | grep '^nats-server-[0-9]' | sort -t- -k3 -rV); do
    version=${file#nats-server-}
    case $1 in
      newest) is_new "$version" || continue ;;
      *) case $version in "$1".*) ;; *) continue ;; esac ;;
    esac
    [ "$(version_of "$bin_dir/$file")" = "$version" ] || continue
    echo "$bin_dir/$file"
    return 0
  done
  return 1
}

# The mirror that this machine already uses for Debian, in the old or the deb822 format.
debian_mirror() {
  mirror=$(sed -n 's/^URIs:[[:space:]]*\([^[:space:]]*\/debian\)\/\{0,1\}\([[:space:]].*\)\{0,1\}$/\1/p' \
    /etc/apt/sources.list.d/*.sources 2>/dev/null | head -n 1)
  [ -n "$mirror" ] || mirror=$(sed -n 's/^deb[[:space:]]\(\[[^]]*\][[:space:]]*\)\{0,1\}\([^[:space:]]*\/debian\)\/\{0,1\}[[:space:]].*/\2/p' \
    /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | head -n 1)
  echo "${mirror:-http://deb.debian.org/debian}"
}

# fetch SUITE: downloads and unpacks the package, prints the path of its file in var/bin.
# SUITE `system` takes the sources that the machine is set up with.
fetch() {
  command -v apt-get >/dev/null && command -v dpkg >/dev/null ||
    { say 'no apt-get and dpkg here, so there is no package to fetch'; return 1; }
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/root"
  set -- "$1" -qq -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" \
    -o APT::Get::List-Cleanup=0 -o APT::Sandbox::User=root -o Acquire::Retries=2 \
    -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20
  if [ "$1" != system ]; then
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(debian_mirror) $1 main" \
      >"$work/src.list"
    set -- "$@" -o "Dir::Etc::sourcelist=$work/src.list" -o Dir::Etc::sourceparts=/dev/null
  fi
  say "fetching the package of $1 (about 25 MB, once)"
  shift
  # An update can fail for one unrelated source of the machine and still have found the package.
  (cd "$work" && { apt-get "$@" update || true; } && apt-get "$@" download nats-server) >&2 || return 1
  dpkg -x "$work"/nats-server_*.deb "$work/root" >&2 || return 1
  version=$(version_of "$work/root/usr/sbin/nats-server")
  [ -n "$version" ] || { say 'the package does not run on this machine'; return 1; }
  # Copied beside its final place and renamed, so that nobody ever runs half a file.
  cp "$work/root/usr/sbin/nats-server" "$bin_dir/.nats-server-$version.$$"
  chmod 755 "$bin_dir/.nats-server-$version.$$"
  mv -f "$bin_dir/.nats-server-$version.$$" "$bin_dir/nats-server-$version"
  rm -rf "${work:?}"/*
  echo "$bin_dir/nats-server-$version"
}

wanted=newest
while [ $# -gt 0 ]; do
  case $1 in
    --version) [ $# -ge 2 ] || fail '--version needs a value'; wanted=$2; shift 2 ;;
    --version=*) wanted=${1#--version=}; shift ;;
    *) fail "unknown argument $1 (usage: install-nats-server.sh [--version newest|2.9])" ;;
  esac
done
case $wanted in newest | 2.9) ;; *) fail "unknown version $wanted: newest or 2.9" ;; esac

if [ "$wanted" = newest ] && [ -n "${NATS_SERVER_BIN:-}" ]; then
  [ -n "$(version_of "$NATS_SERVER_BIN")" ] || fail "NATS_SERVER_BIN=$NATS_SERVER_BIN does not run"
  use "$NATS_SERVER_BIN"
fi

mkdir -p "$bin_dir"
bin_dir=$(cd "$bin_dir" && pwd)
found=$(cached "$wanted") && use "$found"

on_path=$(command -v nats-server || true)
path_version=
[ -z "$on_path" ] || path_version=$(version_of "$on_path")
if [ "$wanted" = newest ] && is_new "$path_version"; then use "$on_path"; fi
if [ "$wanted" = 2.9 ]; then case $path_version in 2.9.*) use "$on_path" ;; esac; fi

# From here on the network is needed. One at a time: the second finds the file of the first.
if command -v flock >/dev/null; then
  exec 9>"$bin_dir/.lock"
  flock 9
  found=$(cached "$wanted") && use "$found"
fi
work=$(mktemp -d)
trap 'rm -rf "$work" "$bin_dir"/.nats-server-*."$$"' EXIT
trap 'exit 1' HUP INT TERM

if [ "$wanted" = 2.9 ]; then
  found=$(fetch "$OLD_SUITE") || fail "cannot fetch nats-server from Debian $OLD_SUITE"
  case $found in */nats-server-2.9.*) use "$found" ;; esac
  fail "Debian $OLD_SUITE no longer offers 2.9 but ${found##*-}"
fi

# Without a network every start would wait for the same failure, so it is remembered for a day.
marker=$bin_dir/.newest-unavailable
if [ -n "$(find "$marker" -mmin "-$RETRY_AFTER_MINUTES" 2>/dev/null)" ]; then
  say "fetching a new server failed less than a day ago (delete $marker to try again)"
elif found=$(fetch "$NEWEST_SUITE") && is_new "${found##*-}"; then
  rm -f "$marker"
  use "$found"
else
  : >"$marker"
fi

if [ -n "$path_version" ]; then
  found=$on_path
elif ! found=$(cached 2); then
  found=$(fetch system) ||
    fail 'no nats-server found or fetched. Install one, or name one in NATS_SERVER_BIN.'
fi
say "USING AN OLDER SERVER, $(version_of "$found"). It runs Guildhall, but before 2.10 a power"
say 'failure can lose the last seconds of acknowledged messages (no sync_interval: always).'
use "$found"
