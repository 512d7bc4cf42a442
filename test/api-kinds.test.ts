import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  allKinds,
  type Backup,
  type BackupKind,
  type BackupPhase,
  type BackupStorageLocation,
  BackupStorageLocationKind,
  type DataUpload,
  DataUploadKind,
  type Infer,
} from '@lateen/api'
import type { KubeObject, ResourceType } from '../packages/kube/src/object.ts'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

function objectsOf<T extends KubeObject>(type: ResourceType<T>): { type: ResourceType<T>; none: T[] } {
  return { type, none: [] }
}

describe('kinds as resource types', () => {
  it('fit the Kubernetes client, which infers the object from the kind', () => {
    const locations = objectsOf(BackupStorageLocationKind)
    const inferred: Same<(typeof locations.none)[number], BackupStorageLocation> = true
    const uploads = objectsOf(DataUploadKind)
    const inferredUpload: Same<(typeof uploads.none)[number], DataUpload> = true
    assert.ok(inferred && inferredUpload)
    assert.equal(locations.type.plural, 'backupstoragelocations')
  })

  it('fit the Kubernetes client as a list, for code that handles any of them', () => {
    const types: readonly ResourceType<KubeObject>[] = allKinds
    assert.equal(types.length, 13)
  })

  it('infer optional, nullable, required and enumerated fields', () => {
    type Spec = Infer<typeof BackupStorageLocationKind.schema.spec>
    const provider: Same<Spec['provider'], string> = true
    const caCert: Same<Pick<Spec['objectStorage'], 'caCert'>, { caCert?: string }> = true
    const period: Same<Pick<Spec, 'backupSyncPeriod'>, { backupSyncPeriod?: string | null }> = true
    const access: Same<Spec['accessMode'] & string, 'ReadOnly' | 'ReadWrite'> = true
    const phase: Same<NonNullable<NonNullable<Backup['status']>['phase']>, BackupPhase> = true
    const moves: Same<NonNullable<typeof BackupKind.phases>['terminal'][number], BackupPhase> = true
    assert.deepEqual([provider, caCert, period, access, phase, moves], Array(6).fill(true))
  })

  it('refuse what the schema refuses', () => {
    const location: BackupStorageLocation = {
      apiVersion: 'velero.io/v1',
      kind: 'BackupStorageLocation',
      metadata: { name: 'default' },
      // @ts-expect-error the bucket is missing
      spec: { provider: 'aws', objectStorage: {} },
    }
    // @ts-expect-error Done is no phase of a backup
    const status: Backup['status'] = { phase: 'Done' }
    assert.ok(location && status)
  })
})
