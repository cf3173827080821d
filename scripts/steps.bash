# Named steps, of which each runs whatever became of those before it: for .ci/run.
#
# A function that is called in a condition (if, ||) runs with errexit off, so only its last command
# would count. Here each step is a subshell of its own with errexit on: the first command that fails
# ends the step, and what a step sets is gone afterwards.

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
