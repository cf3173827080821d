#!/usr/bin/env bash
# A step fails if any of its commands fails, and the next step runs anyway.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/steps.bash"

fails_early() {
  false
  echo 'not reached'
}
fails_in_a_pipe() {
  false | cat
  true
}
succeeds() {
  local at
  for at in 1 2; do [[ $at -eq 1 ]] || break; done
}

said=$(mktemp)
trap 'rm "$said"' EXIT
step early fails_early > "$said"
step pipe fails_in_a_pipe >> "$said"
step command false >> "$said"
step fine succeeds >> "$said"

if [[ ${failed[*]} != 'early pipe command' ]] || grep --quiet 'not reached' "$said" ||
  ! grep --quiet '=== fine: [0-9]* s' "$said"; then
  printf 'failed steps: %s; said:\n' "${failed[*]}"
  cat "$said"
  exit 1
fi
