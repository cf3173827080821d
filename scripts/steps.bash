# Named steps for .ci/run; each runs even if an earlier one failed.
#
# A function that is called in a condition (if, ||) runs with errexit off, so only its last command
# would count. Here each step runs in its own subshell with errexit on: the first command that fails
# ends the step, and variables that a step sets are lost.

failed=()  # names of the steps that failed

step() {  # step NAME COMMAND...   not to be called in a condition itself, for the same reason
  local name=$1 from=$SECONDS status
  shift
  printf '\n=== %s\n' "$name"
  set +e
  (set -e; "$@")
  status=$?
  set -e
  if [[ $status -eq 0 ]]; then
    printf '=== %s: %d s\n' "$name" $((SECONDS - from))
  else
    printf '=== %s: FAILED after %d s\n' "$name" $((SECONDS - from))
    failed+=("$name")
  fi
}
