import type { CommandSpec } from '../tree/command.ts'
import type { FlagSet } from '../tree/flag.ts'
import { completionPoints } from './completion-model.ts'
import { shellTables } from './shell-tables.ts'

/** The lines of a script that zsh sources, or finds in `fpath` as `_lateen`, to complete `lateen`. */
export function zshCompletion(root: CommandSpec, globals: FlagSet): string[] {
  return ['#compdef lateen', ...shellTables(completionPoints(root, globals)), ...completer.split('\n')]
}

const completer = `_lateen() {
  local word current lead="" route="" value_of="" _lateen_program="\${words[1]}"
  local -i at
  current="\${words[CURRENT]}"
  for ((at = 2; at < CURRENT; at++)); do
    word="\${words[at]}"
    if [[ -n "$value_of" ]]; then
      value_of=""
    elif [[ "$word" == -*=* ]]; then
      continue
    elif [[ "$word" == -* ]]; then
      if _lateen_takes_value "$word"; then value_of="$word"; fi
    else
      _lateen_step "$route" "$word"
      if [[ -n "$REPLY" ]]; then route="$REPLY"; fi
    fi
  done
  if [[ -z "$value_of" && "$current" == --*=* ]]; then
    value_of="\${current%%=*}"
    lead="$value_of="
  fi
  if [[ -n "$value_of" ]]; then
    _lateen_values "$route" "$value_of"
    if [[ -z "$REPLY" ]]; then _files; return; fi
  elif [[ "$current" == -* ]]; then
    _lateen_flags "$route"
  else
    _lateen_words "$route"
  fi
  if [[ "$REPLY" == "@" ]]; then
    lead=""
    _lateen_live "\${(@)words[2,CURRENT-1]}" "$current"
  fi
  compadd -P "$lead" -- \${=REPLY}
}
compdef _lateen lateen
# Found in fpath, this file is itself the first completion.
if [[ "\${funcstack[1]-}" == "_lateen" ]]; then _lateen "$@"; fi`
