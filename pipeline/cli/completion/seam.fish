# Completion of seam's verbs, options, stages and files in fish. The program prints the candidates.
function __seam_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for candidate in ($words[1] complete $words[2..] "$current" 2> /dev/null)
        switch $candidate
            case ':files'
                __fish_complete_path "$current"
            case ':folders'
                __fish_complete_directories "$current"
            case '*'
                echo $candidate
        end
    end
end
complete -c seam -f -a '(__seam_complete)'
