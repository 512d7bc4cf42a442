import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup, BackupStorageLocation, DeleteBackupRequest, Restore } from '@lateen/api'
import { claimSnapshotName } from '../csi/claim-snapshot-name.ts'
import { type DiagnosisFacts, diagnose } from './diagnose.ts'
import { stuckRules } from './stuck-rules.ts'

const now = Date.parse('2026-01-02T00:00:00Z')
const metadata = (name: string, labels: Record<string, string> = {}) => ({
  name,
  namespace: 'velero',
  labels,
  creationTimestamp: '2026-01-01T00:00:00Z',
})
const common = { apiVersion: 'velero.io/v1', spec: {} }

const backup = (name: string, phase: 'Completed' | 'Deleting' | 'InProgress' = 'Completed'): Backup => ({
  ...{ ...common, kind: 'Backup', metadata: metadata(name) },
  spec: { storageLocation: 'here' },
  status: { phase, startTimestamp: '2026-01-01T00:00:00Z' },
})
const restore = (name: string, backupName: string): Restore => ({
  ...{ ...common, kind: 'Restore', metadata: metadata(name) },
  spec: { backupName },
  status: { phase: 'Completed' },
})
const location: BackupStorageLocation = {
  ...{ apiVersion: 'velero.io/v1', kind: 'BackupStorageLocation', metadata: metadata('here') },
  spec: { provider: 'aws', objectStorage: { bucket: 'bucket' } },
}
const request = (backupName: string, phase: 'InProgress' | 'Processed'): DeleteBackupRequest => ({
  ...{ apiVersion: 'velero.io/v1', kind: 'DeleteBackupRequest', metadata: metadata(`${backupName}-x`) },
  spec: { backupName },
  status: { phase },
})
const answered = { at: '2026-01-02T00:00:00Z', bucket: 'b', look: 'now', unclaimed: [], more: 0 }

function findings(some: Partial<DiagnosisFacts['objects']>, more: Partial<DiagnosisFacts> = {}): string[] {
  const none = { podVolumeBackups: [], podVolumeRestores: [], dataUploads: [], dataDownloads: [] }
  const empty = { ...none, backups: [], restores: [], deleteRequests: [], repositories: [] }
  return diagnose({
    namespace: 'velero',
    objects: { ...empty, locations: [location], ...some },
    others: [],
    snapshots: [],
    everywhere: { backups: [] },
    reports: new Map([['here', answered]]),
    look: 'now',
    unclaimedAgeMs: 1000,
    now,
    ...more,
  }).map(({ subject, problem, mend }) => `${subject} ${problem}: ${mend}`)
}

describe('diagnose', () => {
  it('finds nothing where all is well', () => {
    const backups = [backup('a')]
    assert.deepEqual(findings({ backups, restores: [restore('r', 'a')] }), [])
  })

  it('finds what is stuck of every kind that has rules, moves of volume data and repositories too', () => {
    const old = (kind: string) => ({
      ...{ ...common, kind, metadata: { ...metadata('old'), deletionTimestamp: '2026-01-01T00:00:00Z' } },
    })
    const objects = {
      ...{
        backups: [old('Backup')],
        restores: [old('Restore')],
        deleteRequests: [old('DeleteBackupRequest')],
      },
      ...{ podVolumeBackups: [old('PodVolumeBackup')], podVolumeRestores: [old('PodVolumeRestore')] },
      ...{ dataUploads: [old('DataUpload')], dataDownloads: [old('DataDownload')] },
      repositories: [old('BackupRepository')],
    } as unknown as Partial<DiagnosisFacts['objects']>
    const others = ['Schedule', 'DownloadRequest', 'ServerStatusRequest'].map(old)
    const found = findings(objects, { others }).filter(each => each.includes('is Terminating'))
    const kinds = found.map(each => each.split(' ')[0])
    assert.deepEqual(new Set(kinds), new Set(stuckRules.keys()))
  })

  it('finds deletions that nobody goes on with', () => {
    const backups = [backup('a', 'Deleting')]
    const found = [
      'Backup a is Deleting, and no request for its deletion is open: lateen backup delete a --confirm',
    ]
    assert.deepEqual(findings({ backups }), found)
    assert.deepEqual(findings({ backups, deleteRequests: [request('a', 'Processed')] }), found)
    assert.deepEqual(findings({ backups, deleteRequests: [request('a', 'InProgress')] }), [])
  })

  it('finds objects whose backup, restore or location does not exist', () => {
    const kinds = { ...common, status: { phase: 'Completed' as const } }
    const volume = {
      ...kinds,
      kind: 'PodVolumeBackup',
      metadata: metadata('v', { 'velero.io/backup-name': 'gone' }),
    }
    const upload = { ...kinds, kind: 'DataUpload', metadata: metadata('u', { 'velero.io/backup-name': 'a' }) }
    const download = {
      ...kinds,
      kind: 'DataDownload',
      metadata: metadata('d', { 'velero.io/restore-name': 'no' }),
    }
    const away: Backup = { ...backup('b'), spec: { storageLocation: 'away' } }
    const objects = {
      backups: [backup('a'), away],
      restores: [restore('r', 'gone')],
      podVolumeBackups: [volume],
      dataUploads: [upload],
      dataDownloads: [download],
    } as unknown as Partial<DiagnosisFacts['objects']>
    assert.deepEqual(findings(objects), [
      'Backup b belongs to storage location away, which does not exist: kubectl delete backups.velero.io b --namespace velero',
      'Restore r is from backup gone, which does not exist: lateen restore delete r --confirm',
      'PodVolumeBackup v belongs to backup gone, which does not exist: kubectl delete podvolumebackups.velero.io v --namespace velero',
      'DataDownload d belongs to restore no, which does not exist: kubectl delete datadownloads.velero.io d --namespace velero',
    ])
  })

  it('leaves it to their users what failed because it named something that does not exist', () => {
    const refused: Backup = {
      ...backup('a'),
      spec: { storageLocation: 'x' },
      status: { phase: 'FailedValidation' },
    }
    const mistaken: Restore = { ...restore('r', 'gone'), status: { phase: 'FailedValidation' } }
    assert.deepEqual(findings({ backups: [refused], restores: [mistaken] }), [])
  })

  it('says which buckets nobody has looked through', () => {
    const reports = (report: DiagnosisFacts['reports'] extends ReadonlyMap<string, infer R> ? R : never) =>
      findings({}, { reports: new Map([['here', report]]) })
    assert.match(
      reports(undefined).join(),
      /^The bucket of location here was not looked through: no Lateen server/,
    )
    assert.match(reports({ ...answered, look: 'then' }).join(), /what was seen at 2026-01-02T00:00:00Z/)
    assert.match(
      reports({ ...answered, problem: 'NO_BUCKET' }).join(),
      /could not be looked through: NO_BUCKET/,
    )
  })

  it('finds what has been in a bucket for long enough', () => {
    const found = { type: 'unfinished-backup', key: 'backups/x/', keys: 2 } as const
    const unclaimed = [
      { ...found, firstSeen: '2026-01-01T00:00:00Z' },
      { ...found, key: 'backups/y/', firstSeen: '2026-01-02T00:00:00Z' },
    ]
    const [only, ...more] = findings({}, { reports: new Map([['here', { ...answered, unclaimed }]]) })
    assert.match(
      only ?? '',
      /^backups\/x\/ in location here has no velero-backup\.json .*\(2 keys\): aws s3 rm /,
    )
    assert.deepEqual(more, [])
  })

  it("snapshots of other installations' backups were to be deleted from the storage", () => {
    const labels = { 'velero.io/backup-uid': 'u', 'velero.io/backup-name': 'theirs' }
    const claim = { backupUid: 'u', namespace: 'shop', claim: 'data' }
    const snapshot = {
      ...{ apiVersion: 'snapshot.storage.k8s.io/v1', kind: 'VolumeSnapshot' },
      metadata: {
        ...{ name: claimSnapshotName(claim), namespace: 'shop', labels },
        creationTimestamp: '2025-12-01T00:00:00Z',
      },
      spec: { source: { persistentVolumeClaimName: 'data' } },
      status: { boundVolumeSnapshotContentName: 'c' },
    }
    const theirs = backup('theirs')
    theirs.metadata.uid = 'u'
    const told = (everywhere: DiagnosisFacts['everywhere']) =>
      findings({}, { snapshots: [snapshot], everywhere })
    assert.deepEqual(told({ backups: [theirs] }), [])
    const [unseen] = told(undefined)
    assert.match(unseen ?? '', /which is not in this namespace.*"Retain"/)
    assert.doesNotMatch(unseen ?? '', /"Delete"/)
  })
})
