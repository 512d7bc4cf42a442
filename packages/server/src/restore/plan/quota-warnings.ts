import { isForbidden, isNotFound, type KubeClient, type KubeObject, type ResourceType } from '@lateen/kube'
import type { RestoredItem } from '../items/restored-item.ts'

interface ResourceQuota extends KubeObject {
  spec?: { hard?: Record<string, string>; scopes?: readonly string[]; scopeSelector?: object }
  status?: { hard?: Record<string, string>; used?: Record<string, string> }
}

const quotaType: ResourceType<ResourceQuota> = {
  group: '',
  version: 'v1',
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
  namespaced: true,
}

/** What a plan would create in one namespace, by type. */
type Created = ReadonlyMap<string, number>

/**
 * What quotas on numbers of objects will say to all objects together: a dry run asks about each alone, as if the others were not
 * there. Throws KubeError, or the signal's reason.
 */
export async function quotaWarnings(
  items: Iterable<RestoredItem>,
  client: KubeClient,
  signal: AbortSignal,
): Promise<string[]> {
  const warnings: string[] = []
  for (const [namespace, created] of createdIn(items)) {
    for (const quota of await quotasOf(namespace, client, signal)) {
      warnings.push(...exceeded(quota, namespace, created))
    }
  }
  return warnings
}

/** By namespace; those that are not there yet have no quotas that could be asked. */
function createdIn(items: Iterable<RestoredItem>): Map<string, Created> {
  const namespaces = new Map<string, Map<string, number>>()
  for (const { action, namespace, groupResource, note } of items) {
    if (action !== 'created' || namespace === '' || note?.includes('namespace ') === true) continue
    const created = namespaces.get(namespace) ?? new Map<string, number>()
    created.set(groupResource, (created.get(groupResource) ?? 0) + 1)
    namespaces.set(namespace, created)
  }
  return namespaces
}

async function quotasOf(
  namespace: string,
  client: KubeClient,
  signal: AbortSignal,
): Promise<ResourceQuota[]> {
  try {
    return await client.resource(quotaType, namespace).list({ signal }).toArray()
  } catch (error) {
    if (isForbidden(error) || isNotFound(error)) return []
    throw error
  }
}

/** What one quota has to say. Pure. */
export function exceeded(quota: ResourceQuota, namespace: string, created: Created): string[] {
  const { spec, status, metadata } = quota
  const scoped = (spec?.scopes?.length ?? 0) > 0 || spec?.scopeSelector !== undefined
  const told: string[] = []
  for (const [name, hard] of Object.entries(status?.hard ?? spec?.hard ?? {})) {
    const wanted = created.get(name.startsWith('count/') ? name.slice('count/'.length) : name) ?? 0
    const left = Number(hard) - Number(status?.used?.[name] ?? 0)
    if (scoped || !Number.isFinite(left) || wanted <= left) continue
    told.push(
      `the quota ${metadata.name} of namespace ${namespace} leaves room for ${Math.max(0, left)} more ${name}, and ${wanted} are to be created: ${wanted - Math.max(0, left)} of them will be refused`,
    )
  }
  return told
}
