import { bashCompletion } from '../completion/bash.ts'
import { fishCompletion } from '../completion/fish.ts'
import { zshCompletion } from '../completion/zsh.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { CommandCall } from '../tree/command.ts'
import { globalFlags } from '../tree/global-flags.ts'
import { commandTree } from '../tree/root.ts'

const generators = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion }

/** `completion SHELL`: the script that a shell sources. */
export function run(call: CommandCall): CommandResult {
  const generate = generators[call.args[0] as keyof typeof generators]
  return { show: 'lines', lines: generate(commandTree, globalFlags) }
}
