import { labelNames } from '@lateen/api'
import { builtInKind, isAlreadyExists, type KubeClient, type KubeObject, unlessNotFound } from '@lateen/kube'
import { reportMapName } from '../watchdog/bucket-report.ts'
import type { LatestObjects } from './latest-objects.ts'

/** The ConfigMap in which a server says what it has found in buckets. */
export interface ReportMap extends KubeObject {
  data?: Record<string, string>
}

export const ReportMapKind = builtInKind<ReportMap>('ConfigMap')

/** For a watch of that ConfigMap only. */
export const reportMapSelector = `metadata.name=${reportMapName}`

export interface ReportPorts {
  client: KubeClient
  maps: LatestObjects<ReportMap>
  signal: AbortSignal
}

/** Stores the report about a location, or with null removes it. Makes the ConfigMap if there is none. Throws KubeErrors. */
export async function writeReport(
  { namespace, name }: { namespace: string | undefined; name: string },
  report: string | null,
  { client, maps, signal }: ReportPorts,
): Promise<void> {
  const resource = client.resource(ReportMapKind, namespace)
  const patch = () =>
    resource.patch(reportMapName, { type: 'merge', body: { data: { [name]: report } } }, { signal })
  const written = (await patch().catch(unlessNotFound)) ?? (await createOrPatch())
  if (written !== undefined) maps.note(written)

  async function createOrPatch(): Promise<ReportMap | undefined> {
    if (report === null) return undefined
    const labels = { [labelNames.component]: 'velero', [labelNames.excludeFromBackup]: 'true' }
    const metadata = { name: reportMapName, ...(namespace !== undefined && { namespace }), labels }
    const map: ReportMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { [name]: report } }
    try {
      return await resource.create(map, { signal })
    } catch (error) {
      if (!isAlreadyExists(error)) throw error
      return patch()
    }
  }
}
