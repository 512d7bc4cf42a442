import {
  apiVersionOf,
  type DownloadRequest,
  DownloadRequestKind,
  generateNameFor,
  lateenAnnotation,
} from '@lateen/api'
import { isNotFound } from '@lateen/kube'
import { CliError } from '../cli-error.ts'
import { followObject } from '../commands/follow-object.ts'
import type { DownloadPorts, DownloadTarget } from './download-ports.ts'

/** Where our server says why a request has no link. */
const errorAnnotation = lateenAnnotation('error')

/** How long a request to the server may take to be withdrawn: a busy API server needs seconds, and what is not withdrawn stays. */
export const WITHDRAW_MS = 10_000

/** A link to a file. Disposing removes the request that brought it. */
export interface RequestedLink extends AsyncDisposable {
  readonly url: string
}

/**
 * Asks the server for a link by a DownloadRequest. Throws a CliError (`DOWNLOAD`) with the server's reason when it says
 * that it cannot make one, `TIMEOUT` when none comes in time, and `NOT_FOUND` where nobody knows such requests.
 */
export async function requestLink(target: DownloadTarget, ports: DownloadPorts): Promise<RequestedLink> {
  const { client, namespace } = ports
  const requests = client.resource(DownloadRequestKind, namespace)
  const created = await requests
    .create(newRequest(target, namespace), { signal: ports.signal })
    .catch(error => {
      throw isNotFound(error) ? unknownKind(namespace, error) : error
    })
  const withdraw = async () => {
    const signal = AbortSignal.timeout(WITHDRAW_MS)
    // The server removes requests itself after ten minutes.
    await requests.delete(created.metadata.name ?? '', { signal }).catch(() => {})
  }
  try {
    const url = await linkOf(created, ports)
    return { url, [Symbol.asyncDispose]: withdraw }
  } catch (error) {
    await withdraw()
    throw error
  }
}

async function linkOf(request: DownloadRequest, ports: DownloadPorts): Promise<string> {
  const { client, namespace, clock, timeoutMs } = ports
  const signal = AbortSignal.any([ports.signal, AbortSignal.timeout(Math.max(1, timeoutMs))])
  const requests = client.resource(DownloadRequestKind, namespace)
  try {
    for await (const seen of followObject(requests, request, { clock, signal })) {
      if (seen === undefined) throw new CliError('DOWNLOAD', 'the request for a link was deleted by somebody')
      if (seen.status?.downloadURL) return seen.status.downloadURL
      const reason = seen.metadata.annotations?.[errorAnnotation]
      if (reason) throw new CliError('DOWNLOAD', `the server cannot make a link: ${reason}`)
    }
  } catch (error) {
    ports.signal.throwIfAborted()
    if (!signal.aborted) throw error
  }
  throw new CliError('TIMEOUT', `no link came from a server for namespace ${namespace} in time`, {
    hint: 'check that the server runs, its log, and that the backup location is available',
  })
}

function newRequest(target: DownloadTarget, namespace: string): DownloadRequest {
  return {
    apiVersion: apiVersionOf(DownloadRequestKind),
    kind: DownloadRequestKind.kind,
    metadata: { generateName: generateNameFor(target.name), namespace },
    spec: { target: { ...target } },
  }
}

function unknownKind(namespace: string, cause: unknown): CliError {
  return new CliError('NOT_FOUND', `this cluster has no namespace ${namespace}, or no DownloadRequests`, {
    hint: "install the CustomResourceDefinitions with 'lateen install --crds-only'",
    cause,
  })
}
