import type { ListOptions } from '../client.ts'
import type { Api } from '../http/api.ts'
import { apiPath, resourceName } from '../http/api-path.ts'
import type { KubeRequest, KubeResponse, Subject } from '../http/kube-request.ts'
import type { KubeObject, ResourceType } from '../object.ts'

/** Which objects to list. */
export interface ListTarget {
  type: ResourceType<KubeObject>
  namespace?: string | undefined
}

/** A page whose answer has begun. */
export interface PageInFlight {
  request: KubeRequest
  response: KubeResponse
}

/** Asks for pages, one ahead of the reader. */
export interface PageSource {
  readonly subject: Subject
  /** The page after `token`: the one asked for ahead if it is that, else a new request. */
  take(token: string | undefined): Promise<PageInFlight>
  /** Asks for the page after `token` before it is needed, if the reader is fast enough to need it soon. */
  readAhead(token: string | undefined): void
  /** How long the reader took for a page. */
  pace(ms: number): void
}

/**
 * Large pages cost the server less per object, but a reader that takes more than a minute for one is cut off. So
 * they are asked for only once the reader has shown that it keeps up.
 */
const pageSizes = { first: 500, fast: 10_000 }
const fastPageMs = 5_000

export interface PageSourceOptions {
  target: ListTarget
  list: ListOptions
  /** Ends every request of this source. */
  signal: AbortSignal
}

/** What has been asked for ahead waits in the socket, a bounded number of bytes, while server and client both work. */
export function createPageSource(api: Api, options: PageSourceOptions): PageSource {
  const { target, list, signal } = options
  const subject = { verb: 'list', resource: resourceName(target.type), namespace: target.namespace }
  let ahead: { token: string; page: Promise<PageInFlight> } | undefined
  let fast = true
  let limit = list.limit ?? pageSizes.first

  async function send(token: string | undefined): Promise<PageInFlight> {
    const { labelSelector, fieldSelector } = list
    const path = apiPath(target, { limit, continue: token, labelSelector, fieldSelector })
    const request: KubeRequest = { method: 'GET', path, subject, repeatable: true, compressed: true, signal }
    return { request, response: await api.transport.send(request, { lane: 'streams' }) }
  }

  return {
    subject,
    take(token) {
      const waiting = ahead
      ahead = undefined
      if (waiting !== undefined && waiting.token === token) return waiting.page
      waiting?.page.then(({ response }) => response.body.destroy()).catch(() => undefined)
      return send(token)
    },
    readAhead(token) {
      if (token === undefined || !fast) return
      const page = send(token)
      page.catch(() => undefined)
      ahead = { token, page }
    },
    pace(ms) {
      fast = ms < fastPageMs
      if (list.limit === undefined) limit = fast ? pageSizes.fast : pageSizes.first
    },
  }
}
