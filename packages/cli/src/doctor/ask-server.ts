import { labelNames } from '@lateen/api'
import {
  builtInKind,
  type Clock,
  isForbidden,
  type KubeObject,
  type ResourceClient,
  unlessNotFound,
} from '@lateen/kube'
import type { BucketReport } from '@lateen/server'
import type { Place } from '../commands/object-client.ts'

interface ConfigMap extends KubeObject {
  data?: Record<string, string>
}

const ConfigMapKind = builtInKind<ConfigMap>('ConfigMap')

export interface ServerQuestion {
  /** Of the locations whose buckets are to be looked through. */
  locations: readonly string[]
  /** Which answers repeat. */
  look: string
  timeoutMs: number
  clock: Clock
}

export interface ServerAnswer {
  /** By location. */
  reports: ReadonlyMap<string, BucketReport | undefined>
  /** Undefined for whoever may not ask. */
  look: string | undefined
}

/** How often it is looked whether the server has answered. */
const EVERY_MS = 250

/** Asks the server to look through the buckets, and waits until it has, or the time is over. Throws KubeErrors. */
export async function askServer(place: Place, question: ServerQuestion): Promise<ServerAnswer> {
  const { client, namespace, signal } = place
  const { locations, look, timeoutMs, clock } = question
  const { parseReport, reportMapName } = await import('@lateen/server')
  const maps = client.resource(ConfigMapKind, namespace)
  const reported = async () => {
    const map = await maps.get(reportMapName, { signal }).catch(unlessNotFound)
    return new Map(locations.map(name => [name, parseReport(map?.data?.[name])]))
  }
  if (locations.length === 0) return { reports: new Map(), look }
  if (!(await request(maps, place, look))) return { reports: await reported(), look: undefined }
  const end = clock.now() + timeoutMs
  for (;;) {
    const reports = await reported()
    const isAnswered = [...reports.values()].every(report => report?.look === look)
    if (isAnswered || clock.now() >= end) return { reports, look }
    await clock.sleep(EVERY_MS, signal)
  }
}

/** Whether the request could be made: not everybody who may look may also ask. */
async function request(
  maps: ResourceClient<ConfigMap>,
  { namespace, signal }: Place,
  look: string,
): Promise<boolean> {
  const { lookAnnotation, reportMapName: name } = await import('@lateen/server')
  const annotations = { [lookAnnotation]: look }
  const labels = { [labelNames.component]: 'velero', [labelNames.excludeFromBackup]: 'true' }
  try {
    const patch = { type: 'merge', body: { metadata: { annotations } } } as const
    if ((await maps.patch(name, patch, { signal }).catch(unlessNotFound)) !== undefined) return true
    const metadata = { name, namespace, labels, annotations }
    await maps.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata }, { signal })
    return true
  } catch (error) {
    if (isForbidden(error)) return false
    throw error
  }
}
