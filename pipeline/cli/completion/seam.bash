# Completion of seam's verbs, options, stages and files in bash. The program prints the candidates.
_seam() {
  local word=${COMP_WORDS[COMP_CWORD]} candidate
  COMPREPLY=()
  while IFS= read -r candidate; do
    case $candidate in
      :files) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$word"); compopt -o filenames ;;
      :folders) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$word"); compopt -o filenames ;;
      *) COMPREPLY+=("$candidate") ;;
    esac
  done < <("${COMP_WORDS[0]}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
}
complete -F _seam seam
