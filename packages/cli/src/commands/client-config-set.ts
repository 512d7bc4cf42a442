import type { CommandResult } from '../output/command-result.ts'
import { readClientConfig, writeClientConfig } from '../settings/client-config.ts'
import type { CommandCall } from '../tree/command.ts'

/** `client config set KEY=VALUE…`: an empty value removes the key; what is not KEY=VALUE is passed over with a warning. */
export async function run(call: CommandCall): Promise<CommandResult> {
  const { home, stderr } = call.surroundings
  const config: Record<string, unknown> = { ...(await readClientConfig(home)) }
  for (const arg of call.args) {
    const [key = '', value, ...more] = arg.split('=')
    if (value === undefined || more.length > 0) {
      stderr.write(`WARNING: invalid KEY=VALUE: ${JSON.stringify(arg)}\n`)
    } else if (value === '') {
      delete config[key]
    } else {
      config[key] = value
    }
  }
  await writeClientConfig(home, config)
  return { show: 'nothing' }
}
