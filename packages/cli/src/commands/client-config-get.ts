import type { CommandResult } from '../output/command-result.ts'
import { readClientConfig } from '../settings/client-config.ts'
import type { CommandCall } from '../tree/command.ts'

/** `client config get [KEY…]`: all values in the order of their keys, or the ones asked for. */
export async function run(call: CommandCall): Promise<CommandResult> {
  const config = await readClientConfig(call.surroundings.home)
  const keys = call.args.length === 0 ? Object.keys(config).sort((a, b) => (a < b ? -1 : 1)) : call.args
  return { show: 'lines', lines: keys.map(key => `${key}: ${display(config[key])}`) }
}

function display(value: unknown): string {
  if (value === undefined) return '<NOT SET>'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
