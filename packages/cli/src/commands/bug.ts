import { arch, platform, release } from 'node:os'
import { gitCommit, version } from '../build-info.ts'
import type { CommandResult } from '../output/command-result.ts'
import { errorReason } from '../output/error-line.ts'
import { parseDuration } from '../parse/duration.ts'
import type { CommandCall } from '../tree/command.ts'
import { serverStatus } from './server-status.ts'

const PATIENCE_MS = 5_000

/** `bug`: a report to fill in. What cannot be found out is said in its place. */
export function run(call: CommandCall): CommandResult {
  return { show: 'lines', lines: report(call) }
}

async function* report(call: CommandCall): AsyncGenerator<string> {
  yield* questions
  yield `- Lateen: ${version} (${await gitCommit()})`
  yield `- Server: ${await serverVersion(call)}`
  yield `- Kubernetes: ${await kubernetesVersion(call)}`
  yield `- Features: ${(await call.settings()).features.join(', ') || 'none'}`
  yield `- This machine: ${platform()} ${release()} ${arch()}, Node.js ${process.versions.node}`
}

const questions = [
  '## What did you do, and what happened?',
  '',
  '## What did you expect?',
  '',
  '## What does the debug bundle hold?',
  '',
  'Attach the file that `lateen debug --backup NAME --restore NAME` writes. It holds no Secrets; read it before you send it.',
  '',
  '## Versions',
  '',
] as const

async function serverVersion(call: CommandCall): Promise<string> {
  const patience = parseDuration(`${PATIENCE_MS}ms`)
  if (patience === undefined) return ''
  return unlessUnknown(call, async () => (await serverStatus(call, patience)).status?.serverVersion ?? '')
}

async function kubernetesVersion(call: CommandCall): Promise<string> {
  return unlessUnknown(call, async () => {
    await using client = await call.connect()
    const signal = AbortSignal.any([call.surroundings.signal, AbortSignal.timeout(PATIENCE_MS)])
    const { gitVersion } = JSON.parse(await client.getRaw('/version', { signal })) as { gitVersion?: string }
    return gitVersion ?? ''
  })
}

async function unlessUnknown(call: CommandCall, ask: () => Promise<string>): Promise<string> {
  try {
    return (await ask()) || 'unknown'
  } catch (error) {
    call.surroundings.signal.throwIfAborted()
    return `unknown, because ${errorReason(error)}`
  }
}
