import {
  apiVersionOf,
  type ServerStatusRequest,
  ServerStatusRequestKind,
  serverStatusRequestGenerateName,
} from '@lateen/api'
import { isNotFound, type ResourceClient } from '@lateen/kube'
import { CliError } from '../cli-error.ts'
import { WITHDRAW_MS } from '../download/request-link.ts'
import type { Duration } from '../parse/duration.ts'
import type { CommandCall } from '../tree/command.ts'

type Call = Pick<CommandCall, 'connect' | 'settings' | 'surroundings'>

const POLL_MS = 250

/**
 * Asks the server of the namespace about itself by a ServerStatusRequest, which it answers by filling in the status.
 * Throws a CliError when none answers in time, or where nobody knows such requests, and KubeErrors.
 */
export async function serverStatus(call: Call, timeout: Duration): Promise<ServerStatusRequest> {
  const { namespace } = await call.settings()
  await using client = await call.connect()
  const signal = AbortSignal.any([
    call.surroundings.signal,
    AbortSignal.timeout(Math.max(0, timeout.milliseconds)),
  ])
  const requests = client.resource(ServerStatusRequestKind, namespace)
  let silent = `the API server ${client.server}`
  let name: string | undefined
  try {
    signal.throwIfAborted()
    const request = await requests
      .create(newRequest(namespace), { signal: wellAfter(signal) })
      .catch(missingKind(namespace))
    name = request.metadata.name ?? ''
    signal.throwIfAborted()
    silent = `a server for namespace ${namespace}`
    for (;;) {
      const seen = await requests.get(name, { signal })
      if (seen.status?.phase === 'Processed') return seen
      await call.surroundings.clock.sleep(POLL_MS, signal)
    }
  } catch (error) {
    if (name !== undefined) await withdraw(requests, name)
    if (!signal.aborted || call.surroundings.signal.aborted) throw error
    throw silence(silent, timeout)
  }
}

/**
 * Aborts some time after the other signal: a request that is cut off may be carried out all the same, and then nobody knows the name that it was
 * given.
 */
function wellAfter(signal: AbortSignal): AbortSignal {
  const late = new AbortController()
  const begin = () => void setTimeout(() => late.abort(signal.reason), WITHDRAW_MS).unref()
  signal.addEventListener('abort', begin, { once: true })
  return late.signal
}

function silence(who: string, timeout: Duration): CliError {
  return new CliError('TIMEOUT', `${who} did not answer within ${timeout.text}`, {
    hint: "check that 'lateen server' runs for this namespace, or wait longer with --timeout",
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
  await requests.delete(name, { signal: AbortSignal.timeout(WITHDRAW_MS) }).catch(() => {})
}

function missingKind(namespace: string): (error: unknown) => never {
  return error => {
    if (!isNotFound(error)) throw error
    throw new CliError('NOT_FOUND', `this cluster has no namespace ${namespace}, or no velero.io kinds`, {
      hint: "install them with 'lateen install', or name another namespace with --namespace",
      cause: error,
    })
  }
}
