import type { IncomingMessage, ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import type { KubeObject, ResourceType } from '@lateen/kube'
import { type LoopbackApi, startLoopbackApi } from './loopback-api.ts'

/** Some objects behind the API that clients know, for moments that no real cluster can be held in: nobody works on them. */
export interface ObjectServer extends LoopbackApi {
  /** Those that are there, by `<plural>/<namespace>/<name>`. */
  readonly objects: Map<string, KubeObject>
  /** `METHOD <plural>/<namespace>/<name>` of every request, without what is not there. */
  readonly requests: string[]
}

export interface ObjectServerOptions {
  kinds: readonly ResourceType<KubeObject>[]
  /** Is waited for before a request is carried out. */
  before?: (request: string, objects: Map<string, KubeObject>) => void | Promise<void>
}

/** Starts one on loopback. It knows uids and labels of no object but as they are given. */
export async function startObjectServer({ kinds, before }: ObjectServerOptions): Promise<ObjectServer> {
  const objects = new Map<string, KubeObject>()
  const requests: string[] = []
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname } = new URL(request.url ?? '', 'http://localhost')
    if (pathname === '/api' || pathname === '/apis') {
      return void response.end(JSON.stringify(discoveryOf(pathname === '/apis' ? kinds : [])))
    }
    const { namespace, plural = '', name } = placeOf(pathname)
    const path = [plural, namespace, name].filter(part => part !== undefined).join('/')
    requests.push(`${request.method} ${path}`)
    const body = request.method === 'GET' || request.method === 'DELETE' ? {} : await json(request)
    await before?.(`${request.method} ${path}`, objects)
    const result: { code?: number } = carryOut(
      `${request.method}`,
      { path, body: body as KubeObject, isOne: !!name },
      objects,
    )
    response.statusCode = result.code ?? 200
    response.end(JSON.stringify(result))
  }
  const api = await startLoopbackApi(answer)
  return { ...api, objects, requests }
}

interface Wanted {
  path: string
  body: KubeObject
  /** Or all of a kind. */
  isOne: boolean
}

const failure = { kind: 'Status', status: 'Failure' }
const missing = { ...failure, code: 404, reason: 'NotFound' }
const conflict = { ...failure, code: 409, reason: 'Conflict' }

/** What is answered. */
function carryOut(method: string, { path, body, isOne }: Wanted, objects: Map<string, KubeObject>): object {
  const found = objects.get(path)
  if (method === 'POST') {
    const { generateName = '' } = body.metadata
    const { name = `${generateName}${objects.size}` } = body.metadata
    const created = { ...body, metadata: { ...body.metadata, name } }
    objects.set(`${path}/${name}`, created)
    return created
  }
  if (method === 'GET' && !isOne) {
    const items = [...objects].filter(([key]) => key.startsWith(`${path}/`)).map(([, object]) => object)
    return { metadata: { resourceVersion: '1' }, items }
  }
  if (found === undefined) return missing
  if (method === 'DELETE') objects.delete(path)
  if (method !== 'PATCH') return found
  const { resourceVersion = found.metadata.resourceVersion } = (body as Partial<KubeObject>).metadata ?? {}
  if (resourceVersion !== found.metadata.resourceVersion) return conflict
  const patched = merged(found, body) as KubeObject
  objects.set(path, patched)
  return patched
}

/** RFC 7396. */
function merged(old: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const result: Record<string, unknown> = { ...(old as object) }
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else result[key] = merged(result[key], value)
  }
  return result
}

/** Objects of the cluster have an empty namespace, and lists of all namespaces none. */
function placeOf(pathname: string): { namespace?: string; plural?: string; name?: string } {
  const [, namespace, plural, name] =
    /^\/apis\/[^/]+\/[^/]+(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?$/.exec(pathname) ?? []
  if (name === undefined) return { ...(namespace && { namespace }), ...(plural && { plural }) }
  return { namespace: namespace ?? '', ...(plural && { plural }), name }
}

function discoveryOf(kinds: readonly ResourceType<KubeObject>[]): object {
  const items = kinds.map(({ group, version, kind, plural, namespaced }) => ({
    metadata: { name: group },
    versions: [
      {
        version,
        freshness: 'Current',
        resources: [
          {
            ...{ resource: plural, responseKind: { kind }, singularResource: kind.toLowerCase() },
            ...{ scope: namespaced ? 'Namespaced' : 'Cluster', verbs: ['get', 'list', 'delete'] },
          },
        ],
      },
    ],
  }))
  return { kind: 'APIGroupDiscoveryList', items }
}
