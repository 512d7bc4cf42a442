import { gitCommit, version } from '../build-info.ts'
import type { CommandResult } from '../output/command-result.ts'
import { errorReason } from '../output/error-line.ts'
import type { CommandCall } from '../tree/command.ts'
import type { versionFlags } from '../tree/root.ts'
import { serverStatus } from './server-status.ts'

type Call = CommandCall<typeof versionFlags>

/** `version`: this program's, then the server's; a server that does not answer is a remark, not a failure. */
export function run(call: Call): CommandResult {
  return { show: 'lines', lines: versions(call) }
}

async function* versions(call: Call): AsyncGenerator<string> {
  yield 'Client:'
  yield `\tVersion: ${version}`
  yield `\tGit commit: ${await gitCommit()}`
  if (call.flags['client-only']) return
  let server: string
  try {
    const { status } = await serverStatus(call, call.flags.timeout)
    server = status?.serverVersion ?? ''
  } catch (error) {
    if (call.surroundings.signal.aborted) throw error
    yield `<error getting server version: ${errorReason(error)}>`
    return
  }
  yield 'Server:'
  yield `\tVersion: ${server}`
  const behind = whichIsBehind(version, server)
  if (behind !== undefined) {
    yield `# WARNING: the client version does not match the server version. Please update ${behind}`
  }
}

/** Which side has the older major and minor version; undefined when they are equal. */
export function whichIsBehind(client: string, server: string): 'client' | 'server' | undefined {
  const [ours, theirs] = [client, server].map(text => /^v?(\d+)\.(\d+)/.exec(text)?.slice(1).map(Number))
  if (ours === undefined || theirs === undefined) return 'client'
  const difference = (ours[0] ?? 0) - (theirs[0] ?? 0) || (ours[1] ?? 0) - (theirs[1] ?? 0)
  if (difference === 0) return undefined
  return difference > 0 ? 'server' : 'client'
}
