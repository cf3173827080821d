# Shared by scripts/test, demo, bench and others: from the command line to a finished build.

cd "$(dirname "${BASH_SOURCE[0]}")/.."

die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# The comment at the top of a script is its help.
show_help() {
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit
}

setup_options=()
cmake_options=()
preset=
with_tests=true

# Takes the options that all scripts accept from "$@"; `own` gets the other words.
take_options() {
  own=()
  while [[ $# -gt 0 ]]; do
    case $1 in
      --libtorch | --preset) [[ $# -ge 2 ]] || die "$1 needs a value" ;;&
      --libtorch) setup_options+=(--libtorch "$2"); shift ;;
      --libtorch=*) setup_options+=("$1") ;;
      --preset) preset=$2; shift ;;
      --preset=*) preset=${1#*=} ;;
      -D?*) cmake_options+=("$1") ;;
      -h | --help) show_help ;;
      *) own+=("$1") ;;
    esac
    shift
  done
}

# Runs scripts/setup and cmake; sets `preset` and `build` (the build folder).
configure() {
  local for_libtorch tests=()
  if $with_tests; then setup_options+=(--tests); fi
  for_libtorch=$(scripts/setup "${setup_options[@]}")
  if [[ $for_libtorch == release-debian ]]; then
    unset CMAKE_PREFIX_PATH  # it may name a different LibTorch
    cmake_options+=(-DSEAM_LIBTORCH=debian)
  fi
  preset=${preset:-$for_libtorch}
  build=build/$preset
  # CMake keeps the LibTorch and the compiler that it found first; a different one needs a fresh configuration.
  local wanted="$for_libtorch ${CMAKE_PREFIX_PATH:-}${CXX:+ $CXX}"
  if [[ -f $build/CMakeCache.txt && -f $build/.libtorch && $(< "$build/.libtorch") != "$wanted" ]]; then
    rm "$build/CMakeCache.txt"
  fi
  mkdir -p "$build"
  printf '%s\n' "$wanted" > "$build/.libtorch"
  if $with_tests; then
    tests=(-DSEAM_BUILD_TESTS=ON)
  elif [[ ! -f $build/CMakeCache.txt ]]; then
    tests=(-DSEAM_BUILD_TESTS=OFF)  # a folder that has them keeps them
  fi
  cmake --preset "$preset" "${tests[@]}" "${cmake_options[@]}"
}

# Builds everything, or the named targets. On a terminal, Ninja shows its progress on one line; elsewhere, only
# failures are printed.
build() {
  local target targets=()
  for target in "$@"; do targets+=(--target "$target"); done
  if [[ -t 1 ]]; then
    cmake --build "$build" "${targets[@]}"
  elif ! cmake --build "$build" "${targets[@]}" > "$build/build.log"; then
    grep -vE '^\[[0-9]+/[0-9]+\]' "$build/build.log" >&2 || true
    die "the build failed; $build/build.log has all of its output"
  fi
}
