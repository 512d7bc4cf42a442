import type { DeleteOptions, Patch, ResourceClient, WriteOptions } from './client.ts'
import { isNotFound } from './errors.ts'
import type { Api } from './http/api.ts'
import {
  apiPath,
  apiVersionOf,
  type ResourceAddress,
  requireObjectAddress,
  resourceName,
} from './http/api-path.ts'
import { encodeBody } from './http/encode-body.ts'
import type { KubeRequest } from './http/kube-request.ts'
import { listEncoded, listObjects } from './list/list-objects.ts'
import type { KubeObject, ResourceType } from './object.ts'
import { watchObjects } from './watch/watch-objects.ts'

const patchContentTypes: Readonly<Record<Patch['type'], string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
}

/** Merge and apply say what fields shall be, so a second one changes nothing; the others may add twice. */
const repeatablePatches = new Set<Patch['type']>(['merge', 'apply'])

/** The verbs on one kind. See `ResourceClient` for what they promise. */
export function createResourceClient<T extends KubeObject>(
  api: Api,
  type: ResourceType<T>,
  namespace?: string,
): ResourceClient<T> {
  const target = { type, namespace: type.namespaced ? namespace : undefined }
  const address = (name: string, subresource?: string, place = target.namespace): ResourceAddress => ({
    type,
    namespace: place,
    name,
    subresource,
  })
  return {
    async get(name, options = {}) {
      return api.json<T>(objectRequest({ verb: 'get', method: 'GET', address: address(name) }, options))
    },
    list: options => listObjects(api, target, options),
    listEncoded: options => listEncoded(api, target, options),
    watch: options => watchObjects(api, target, options),
    async create(object, options = {}) {
      const place = target.namespace ?? object.metadata.namespace
      return api.json<T>(createRequest({ type, namespace: place }, object, options))
    },
    async update(object, options = {}) {
      const place = target.namespace ?? object.metadata.namespace
      const to = address(object.metadata.name ?? '', options.subresource, place)
      return api.json<T>({
        ...objectRequest({ verb: 'update', method: 'PUT', address: to }, options),
        body: encodeBody(object),
        repeatable: object.metadata.resourceVersion !== undefined || options.dryRun === true,
      })
    },
    async patch(name, patch, options = {}) {
      return api.json<T>(patchRequest(address(name, options.subresource), patch, options))
    },
    async delete(name, options = {}) {
      await deleteObject(api, address(name), options)
    },
  }
}

interface ObjectVerb {
  verb: string
  method: KubeRequest['method']
  address: ResourceAddress
}

function objectRequest({ verb, method, address }: ObjectVerb, options: WriteOptions): KubeRequest {
  requireObjectAddress(verb, address)
  const part = address.subresource === undefined ? '' : `/${address.subresource}`
  return {
    method,
    path: apiPath(address, {
      fieldManager: options.fieldManager,
      dryRun: options.dryRun === true ? 'All' : undefined,
    }),
    subject: {
      verb,
      resource: resourceName(address.type) + part,
      namespace: address.type.namespaced ? address.namespace : undefined,
      name: address.name,
    },
    repeatable: method === 'GET' || options.dryRun === true,
    signal: options.signal,
  }
}

function createRequest(to: ResourceAddress, object: KubeObject, options: WriteOptions): KubeRequest {
  const { subresource } = options
  const name = subresource === undefined ? undefined : (object.metadata.name ?? '')
  const request = objectRequest(
    { verb: 'create', method: 'POST', address: { ...to, name, subresource } },
    options,
  )
  const subject = { ...request.subject, name: object.metadata.name ?? object.metadata.generateName }
  return { ...request, subject, body: encodeBody(object) }
}

function patchRequest(address: ResourceAddress, patch: Patch, options: WriteOptions): KubeRequest {
  const apply = patch.type === 'apply'
  const fieldManager = apply ? patch.fieldManager : options.fieldManager
  const request = objectRequest(
    { verb: 'patch', method: 'PATCH', address },
    { ...options, ...(fieldManager !== undefined && { fieldManager }) },
  )
  const force = apply && patch.force === true ? '&force=true' : ''
  return {
    ...request,
    path: request.path + force,
    body: encodeBody(apply ? appliedBody(address, patch.body) : patch.body),
    contentType: patchContentTypes[patch.type],
    repeatable: repeatablePatches.has(patch.type) || options.dryRun === true,
  }
}

/** An apply is refused without these three, all of which the address holds. */
function appliedBody({ type, name }: ResourceAddress, body: { metadata?: object }): object {
  return { apiVersion: apiVersionOf(type), kind: type.kind, ...body, metadata: { name, ...body.metadata } }
}

/**
 * Repeated after a lost answer only when a uid says which object is meant: without one, the second request could
 * delete a successor of the same name. When the first may have been carried out, "not found" means it was.
 */
async function deleteObject(api: Api, address: ResourceAddress, options: DeleteOptions): Promise<void> {
  const { preconditions, propagationPolicy, gracePeriodSeconds, signal } = options
  let mayBeDone = false
  const request: KubeRequest = {
    ...objectRequest({ verb: 'delete', method: 'DELETE', address }, signal === undefined ? {} : { signal }),
    body: JSON.stringify({
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions,
      propagationPolicy,
      gracePeriodSeconds,
    }),
    repeatable: preconditions?.uid !== undefined,
    onFailure: error => {
      mayBeDone ||= error.mayHaveActed
    },
  }
  try {
    await api.text(request)
  } catch (error) {
    if (mayBeDone && isNotFound(error)) return
    throw error
  }
}
