import type { CommandSpec } from '../tree/command.ts'
import type { FlagSet } from '../tree/flag.ts'
import { completionPoints } from './completion-model.ts'
import { shellTables } from './shell-tables.ts'

/** The lines of a script that bash sources to complete `lateen`. */
export function bashCompletion(root: CommandSpec, globals: FlagSet): string[] {
  return [
    '# bash completion for lateen',
    ...shellTables(completionPoints(root, globals)),
    ...completer.split('\n'),
    'complete -o default -F _lateen lateen',
  ]
}

// Bash splits `--flag=value` into three words, so `=` announces a value too.
const completer = `_lateen() {
  local word current path="" value_of="" at
  local _lateen_program="\${COMP_WORDS[0]}"
  local -a given=()
  current="\${COMP_WORDS[COMP_CWORD]}"
  for ((at = 1; at < COMP_CWORD; at++)); do
    word="\${COMP_WORDS[at]}"
    if [[ "$word" == "=" ]]; then
      value_of="\${COMP_WORDS[at - 1]}"
    elif [[ -n "$value_of" ]]; then
      value_of=""
      given+=("$word")
    elif [[ "$word" == -* ]]; then
      if _lateen_takes_value "$word"; then value_of="$word"; fi
      given+=("$word")
    else
      _lateen_step "$path" "$word"
      if [[ -n "$REPLY" ]]; then path="$REPLY"; fi
      given+=("$word")
    fi
  done
  if [[ "$current" == "=" ]]; then
    value_of="\${COMP_WORDS[COMP_CWORD - 1]}"
    current=""
  fi
  if [[ -n "$value_of" ]]; then
    _lateen_values "$path" "$value_of"
  elif [[ "$current" == -* ]]; then
    _lateen_flags "$path"
  else
    _lateen_words "$path"
  fi
  if [[ "$REPLY" == "@" ]]; then _lateen_live "\${given[@]}" "$current"; fi
  COMPREPLY=($(compgen -W "$REPLY" -- "$current"))
}`
