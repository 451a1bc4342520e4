import { type Completion, inQuotes, innerCommands } from "./completion-table.ts";

/** A completion script for bash. */
export function bashScript(table: readonly Completion[]): string {
  return `# Completion of convoke for bash. In ~/.bashrc: source <(convoke completion bash)
_convoke() {
  local word="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local command="" place=1 names="" flags="" words=""
  # bash splits --flag=value into three words.
  if [[ $word == "=" ]]; then
    word=""
  elif [[ $previous == "=" ]]; then
    previous="\${COMP_WORDS[COMP_CWORD-2]}"
  fi
  if (( COMP_CWORD > 1 )); then
    command="\${COMP_WORDS[1]}"
    place=2
  fi
  if (( COMP_CWORD > 2 )); then
    case "$command \${COMP_WORDS[2]}" in
      ${innerCommands(table).map(inQuotes).join("|")})
        command="$command \${COMP_WORDS[2]}"
        place=3 ;;
    esac
  fi
  case "$command" in
${table.map(wordsOf).join("\n")}
  esac
  case "$command $previous" in
${table.flatMap(valuesOf).join("\n")}
    *)
      if [[ $word == -* ]]; then
        words="$flags"
      elif (( COMP_CWORD == place )); then
        words="$names"
      fi ;;
  esac
  COMPREPLY=( $(compgen -W "$words" -- "$word") )
}
complete -o default -F _convoke convoke
`;
}

function wordsOf({ command, words, flags }: Completion): string {
  const names = inQuotes(words.map(({ word }) => word).join(" "));
  const dashed = inQuotes(flags.map(({ word }) => `--${word}`).join(" "));
  return `    ${inQuotes(command)}) names=${names} flags=${dashed} ;;`;
}

/** What follows a flag. If that is nothing, bash completes files. */
function valuesOf({ command, flags }: Completion): readonly string[] {
  return flags
    .filter(({ value }) => value !== "none")
    .map(({ word, choices }) => {
      const pattern = inQuotes(`${command} --${word}`);
      return `    ${pattern}) words=${inQuotes(choices.join(" "))} ;;`;
    });
}
