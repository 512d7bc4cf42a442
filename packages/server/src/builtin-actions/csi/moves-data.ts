import { annotationNames, type Backup } from '@lateen/api'
import { builtInKind, type KubeClient, type KubeObject, unlessNotFound } from '@lateen/kube'
import { configMapData } from '../../filters/policies/config-map-data.ts'
import { matchVolumePolicy } from '../../filters/policies/match-volume-policy.ts'
import { movesByPolicy } from '../../filters/policies/move-parameter.ts'
import { parsePolicies } from '../../filters/policies/parse-policies.ts'
import { type VolumeObjects, volumeFactsOf } from '../../filters/policies/volume-facts.ts'
import type { VolumePolicy } from '../../filters/policies/volume-policy.ts'
import { volumeOf } from '../claim-action.ts'
import type { MovesData } from './claim-backup-action.ts'

const VolumeKind = builtInKind<KubeObject>('PersistentVolume')

/**
 * Whether the content of a claim's snapshot is moved: what the first volume policy says that matches it, else what the backup says. Made
 * anew for each backup, whose policies are read once: they were found valid when it began. Throws KubeErrors.
 */
export function movesDataByPolicy(client: KubeClient): MovesData {
  const known = new Map<string, Promise<readonly VolumePolicy[]>>()
  return async (backup, claim) => {
    const byDefault = backup.spec.snapshotMoveData === true
    const uid = backup.metadata.uid ?? ''
    const reading = known.get(uid) ?? readPolicies(backup, client)
    known.set(uid, reading)
    const volumePolicies = await reading
    if (volumePolicies.length === 0) return byDefault
    const volume = volumeOf(claim)
    const persistentVolume =
      volume && (await client.resource(VolumeKind).get(volume.name).catch(unlessNotFound))
    const facts = volumeFactsOf({ persistentVolume, claim } as VolumeObjects)
    return movesByPolicy(matchVolumePolicy({ volumePolicies }, facts)) ?? byDefault
  }
}

/** The backup's own first. */
async function readPolicies({ metadata, spec }: Backup, client: KubeClient): Promise<VolumePolicy[]> {
  const names = [
    spec.resourcePolicy?.name ?? '',
    metadata.annotations?.[annotationNames.globalBackupVolumePolicyConfigMap] ?? '',
  ]
  const signal = new AbortController().signal
  const ports = { client, namespace: metadata.namespace ?? '', signal }
  const all: VolumePolicy[] = []
  for (const name of names) {
    const [text] = Object.values((await configMapData(name, ports)) ?? {})
    if (text !== undefined) all.push(...parsePolicies(text).volumePolicies)
  }
  return all
}
