#!/usr/bin/env bash
# The steps of a plugin author, outside this tree: install Seam, move it, create a plugin of each kind and
# build it unedited; build the examples; run pipelines with the results.
#
#   test.sh SOURCE_TREE BUILD_TREE
#
# Builds one project without LibTorch and one with it. SEAM_ALL_PROJECTS=1 in the environment builds all.
set -euo pipefail
source_tree=$1
build_tree=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if command -v ccache > /dev/null; then  # with the user's cache, whose keys must not depend on the temporary folder
  CCACHE_MAXSIZE=$(ccache --get-config max_size)
  CCACHE_DIR=$(ccache --get-config cache_dir)
  export CCACHE_MAXSIZE CCACHE_DIR CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$work CCACHE_NOHASHDIR=true
fi

all=false
if [[ ${SEAM_ALL_PROJECTS:-} == 1 ]]; then all=true; fi

fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
quietly() {
  "$@" > "$work/log" 2>&1 || { cat "$work/log" >&2; fail "$*"; }
}
# build_and_test FOLDER [CMAKE OPTION ...]
build_and_test() {
  local folder=$1 from=$SECONDS
  shift
  quietly cmake -S "$folder" -B "$folder/build" -G Ninja "$@"
  quietly cmake --build "$folder/build"
  quietly ctest --test-dir "$folder/build" --output-on-failure --no-tests=error
  printf '%s: %s, %d s\n' "$(basename "$folder")" "$(grep 'tests passed' "$work/log")" $((SECONDS - from))
}

quietly cmake --install "$build_tree" --prefix "$work/first"
mv "$work/first" "$work/seam"  # nothing may depend on the original folder
unset SEAM_PLUGIN_PATH LD_LIBRARY_PATH
export XDG_CACHE_HOME=$work/cache
export PATH=$work/seam/bin:$PATH  # CMake finds the package through PATH as well
seam --version || fail "the installed program does not start"
seam plugins --load > "$work/plugins" || fail "the installed program does not find its own plugins"
grep --quiet 'image.decode' "$work/plugins" || { cat "$work/plugins"; fail "no image.decode"; }
if grep --quiet 'refused' "$work/plugins"; then cat "$work/plugins"; fail "a plugin cannot be loaded"; fi
for file in share/man/man1/seam.1 share/man/man1/seam-run.1 share/bash-completion/completions/seam \
  share/zsh/site-functions/_seam share/fish/vendor_completions.d/seam.fish share/seam/pipelines/demo.toml \
  share/seam/scripts/export_lite0.py share/seam/scripts/inshop-folds; do
  [[ -s $work/seam/$file ]] || fail "$file is not installed"
done
quietly python3 "$source_tree/tests/system/links_test.py" "$work/seam/share/doc/seam"
[[ -s $work/seam/share/doc/seam/docs/writing-a-plugin.md ]] || fail "the guide is not installed"
[[ -s $work/seam/share/doc/seam/LICENSE ]] || fail "the licence is not installed"

# Without LibTorch and OpenCV: the package must not require them.
cd "$work"
kinds=(transform)
if $all; then kinds+=(source collector sink); fi
for kind in "${kinds[@]}"; do
  quietly seam new plugin "acme.my_$kind" --kind "$kind"
  build_and_test "$work/my_$kind" -DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON
  if grep --quiet --ignore-case opencv "$work/my_$kind/build/CMakeCache.txt"; then fail "my_$kind looks for OpenCV"; fi
done
if $all; then  # the guide's own example, exactly as in the guide
  quietly seam new plugin acme.sharpen --kind transform
  quietly python3 "$source_tree/tests/system/external_plugin/guide.py" \
    "$work/seam/share/doc/seam/docs/writing-a-plugin.md" "$work/sharpen"
  build_and_test "$work/sharpen" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror"
fi
plugin=$work/my_transform/build/lib/seam/plugins/seam_my_transform.so
needed=$(readelf --dynamic "$plugin" | sed -nE 's/.*NEEDED.*\[(.*)\]/\1/p')
for library in $needed; do
  case $library in
    libseam.so.* | libstdc++.so.* | libm.so.* | libgcc_s.so.* | libc.so.* | ld-linux*) ;;
    *) fail "a plugin without tensors needs $library" ;;
  esac
done
SEAM_PLUGIN_PATH=$work/my_transform/build/lib/seam/plugins seam plugins | grep --quiet 'acme.my_transform' ||
  fail "SEAM_PLUGIN_PATH is not searched"
# Installed next to Seam it is found without a search path.
quietly cmake --install "$work/my_transform/build" --prefix "$work/seam"
seam inspect acme.my_transform > "$work/inspected" || fail "an installed plugin is not found"

# A loss with its own weights, and the components.
examples=(proxy_nca)
if $all; then examples+=(csv_table equalise reranking); fi
for example in "${examples[@]}"; do
  cp -r "$source_tree/examples/$example" "$work/$example"
  build_and_test "$work/$example"
done
if ! grep --quiet '"stage":"proxies","name":"loss"' "$work/proxy_nca/build/run-of-test/metrics.jsonl"; then
  head -3 "$work/proxy_nca/build/run-of-test/metrics.jsonl"
  fail "the run wrote no metric of the loss's"
fi

if ! $all; then
  echo "left out: plugins of the kinds source, collector, sink, tensor, model and loss, the guide's example,"
  echo "examples/csv_table, examples/equalise and examples/reranking; SEAM_ALL_PROJECTS=1 builds them"
  exit
fi
protocol='/search=exact/expand=alpha(3,3)/rerank=k-reciprocal(8,3,0.3)-of-200/'
grep --quiet --recursive --fixed-strings "$protocol" "$work/reranking/build/run-of-test/reports" ||
  fail "the report does not name the re-ranking"

# An unedited network and an unedited loss.
for kind in model loss; do
  quietly seam new plugin "acme.my_$kind" --kind "$kind"
  build_and_test "$work/my_$kind"
done

# An unedited tensor stage, with the build folder as the package.
quietly seam new plugin acme.my_tensor --kind tensor
build_and_test "$work/my_tensor" "-DSeam_DIR=$build_tree/lib/cmake/Seam"
seam plugins --load --plugin-path "$work/my_tensor/build/lib/seam/plugins" > "$work/plugins"
grep --quiet 'acme.my_tensor' "$work/plugins" || { cat "$work/plugins"; fail "a plugin of the build folder's package"; }
echo "fine"
