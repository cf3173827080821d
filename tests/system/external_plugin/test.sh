#!/usr/bin/env bash
# What a plugin author does, far from this tree: install Seam, move it elsewhere, build the template
# against it, run a pipeline with the result.
#
#   test.sh SOURCE_TREE BUILD_TREE
set -euo pipefail
source_tree=$1
build_tree=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
quietly() {
  "$@" > "$work/log" 2>&1 || { cat "$work/log" >&2; fail "$*"; }
}

quietly cmake --install "$build_tree" --prefix "$work/first"
mv "$work/first" "$work/seam"  # nothing may remember where it was installed
unset SEAM_PLUGIN_PATH LD_LIBRARY_PATH
seam=$work/seam/bin/seam
"$seam" --version || fail "the installed program does not start"
"$seam" plugins > "$work/plugins" || fail "the installed program does not find its own plugins"
grep --quiet 'image.decode' "$work/plugins" || { cat "$work/plugins"; fail "no image.decode"; }

# Without LibTorch and OpenCV: the package must not ask for them.
cp -r "$work/seam/share/seam/template" "$work/author"
quietly cmake -S "$work/author" -B "$work/author/build" -G Ninja "-DCMAKE_PREFIX_PATH=$work/seam" \
  -DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON -DCMAKE_DISABLE_FIND_PACKAGE_OpenCV=ON
quietly cmake --build "$work/author/build"
quietly ctest --test-dir "$work/author/build" --output-on-failure
plugin=$work/author/build/lib/seam/plugins/seam_sharpness.so
needed=$(readelf --dynamic "$plugin" | sed -nE 's/.*NEEDED.*\[(.*)\]/\1/p')
for library in $needed; do
  case $library in
    libseam.so.* | libstdc++.so.* | libm.so.* | libgcc_s.so.* | libc.so.* | ld-linux*) ;;
    *) fail "a plugin without tensors needs $library" ;;
  esac
done

export SEAM_PLUGIN_PATH=$work/author/build/lib/seam/plugins
"$seam" plugins | grep --quiet 'example.sharpness' || fail "SEAM_PLUGIN_PATH is not searched"
"$seam" check "$work/author/pipeline.toml" || fail "seam check refuses the template's pipeline"
"$seam" run "$work/author/pipeline.toml" --run-dir "$work/run" > "$work/log" 2>&1 ||
  { cat "$work/log" >&2; fail "seam run with the template's plugin"; }
grep --quiet sharpness "$work/run/metrics.jsonl" || fail "the run wrote no metric of the plugin's"

# The components, and the build folder as a package of its own.
quietly cmake -S "$source_tree/tests/system/external_plugin/opted_in" -B "$work/opted_in" -G Ninja \
  "-DCMAKE_PREFIX_PATH=$build_tree"
quietly cmake --build "$work/opted_in"
SEAM_PLUGIN_PATH=$work/opted_in/lib/seam/plugins "$seam" plugins > "$work/plugins"
grep --quiet 'example.brightness' "$work/plugins" || { cat "$work/plugins"; fail "component plugin"; }
echo "fine"
