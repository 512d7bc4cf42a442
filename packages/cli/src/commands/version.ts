import type { ServerStatusRequest } from '@lateen/api'
import { apiVersionOf, ServerStatusRequestKind, serverStatusRequestGenerateName } from '@lateen/api'
import { isNotFound, type ResourceClient } from '@lateen/kube'
import { gitCommit, version } from '../build-info.ts'
import { CliError } from '../cli-error.ts'
import type { CommandResult } from '../output/command-result.ts'
import { errorReason } from '../output/error-line.ts'
import type { CommandCall } from '../tree/command.ts'
import type { versionFlags } from '../tree/root.ts'

type Call = CommandCall<typeof versionFlags>

const POLL_MS = 250

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
    server = await askServer(call)
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

/** Asks through a ServerStatusRequest, which the server answers by filling in its status. */
async function askServer(call: Call): Promise<string> {
  const { timeout } = call.flags
  const { namespace } = await call.settings()
  const signal = AbortSignal.any([
    call.surroundings.signal,
    AbortSignal.timeout(Math.max(0, timeout.milliseconds)),
  ])
  await using client = await call.connect()
  const requests = client.resource(ServerStatusRequestKind, namespace)
  let name: string | undefined
  try {
    const request = await requests.create(newRequest(namespace), { signal }).catch(missingKind(namespace))
    name = request.metadata.name ?? ''
    for (;;) {
      const { status } = await requests.get(name, { signal })
      if (status?.phase === 'Processed') return status.serverVersion ?? ''
      await call.surroundings.clock.sleep(POLL_MS, signal)
    }
  } catch (error) {
    if (name !== undefined) await withdraw(requests, name)
    if (!signal.aborted || call.surroundings.signal.aborted) throw error
    throw silence(
      name === undefined ? `the API server ${client.server}` : `a server for namespace ${namespace}`,
      call,
    )
  }
}

function silence(who: string, { flags }: Call): CliError {
  return new CliError('TIMEOUT', `${who} did not answer within ${flags.timeout.text}`, {
    hint: "check that 'lateen server' runs for this namespace, or add --client-only",
  })
}

function newRequest(namespace: string): ServerStatusRequest {
  return {
    apiVersion: apiVersionOf(ServerStatusRequestKind),
    kind: ServerStatusRequestKind.kind,
    metadata: { generateName: serverStatusRequestGenerateName, namespace },
    spec: {},
  }
}

/** A request that nobody answered would stay for ever: only the server removes them. */
async function withdraw(requests: ResourceClient<ServerStatusRequest>, name: string): Promise<void> {
  await requests.delete(name, { signal: AbortSignal.timeout(2_000) }).catch(() => {})
}

function missingKind(namespace: string): (error: unknown) => never {
  return error => {
    if (!isNotFound(error)) throw error
    throw new CliError('NOT_FOUND', `this cluster has no namespace ${namespace}, or no velero.io kinds`, {
      hint: "install them with 'lateen install --crds-only', or name another namespace with --namespace",
      cause: error,
    })
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
