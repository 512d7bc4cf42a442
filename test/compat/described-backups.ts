import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { gzipSync } from 'node:zlib'

/** A backup to describe, the files it has in the bucket, and objects that belong to it. */
export interface DescribedBackup {
  readonly name: string
  readonly metadata?: object
  readonly spec?: object
  readonly status?: object
  /** JSON documents by the end of their name. */
  readonly files?: Readonly<Record<string, unknown>>
}

const times = {
  startTimestamp: '2026-01-02T03:04:05Z',
  completionTimestamp: '2026-07-02T03:05:06Z',
  expiration: '2036-02-01T03:04:05Z',
}
const ended = { formatVersion: '1.1.0', version: 1, ...times }

const rich = {
  includedNamespaces: ['shop', 'team-*'],
  excludedNamespaces: ['team-old'],
  includedResources: ['pods', 'deployments.apps'],
  excludedResources: ['events'],
  includeClusterResources: false,
  labelSelector: {
    matchLabels: { app: 'web' },
    matchExpressions: [
      { key: 'tier', operator: 'In', values: ['front', 'back'] },
      { key: 'a', operator: 'NotIn', values: ['z', 'b'] },
      { key: 'test', operator: 'DoesNotExist' },
      { key: 'owner', operator: 'Exists' },
    ],
  },
  ttl: '720h0m0s',
  csiSnapshotTimeout: '10m0s',
  itemOperationTimeout: '4h0m0s',
  snapshotVolumes: true,
  snapshotMoveData: false,
  defaultVolumesToFsBackup: true,
  datamover: 'mine',
  orderedResources: { pods: 'shop/a,shop/b' },
  resourcePolicy: { kind: 'configmap', name: 'policies' },
  uploaderConfig: { parallelFilesUpload: 4 },
  hooks: {
    resources: [
      {
        name: 'quiesce',
        includedNamespaces: ['shop'],
        excludedNamespaces: ['other'],
        includedResources: ['pods'],
        labelSelector: { matchLabels: { app: 'db' } },
        pre: [
          { exec: { command: ['/bin/sh', '-c', 'sync'], container: 'db', onError: 'Fail', timeout: '30s' } },
        ],
        post: [{ exec: { command: ['/bin/true'] } }, { exec: { command: ['/bin/false'], container: 'db' } }],
      },
      { name: 'second' },
    ],
  },
}

const operations = [
  {
    spec: {
      backupName: 'operations',
      backupUID: 'u',
      backupItemAction: 'velero.io/csi-pvc-backupper',
      resourceIdentifier: { Group: '', Resource: 'persistentvolumeclaims', Namespace: 'shop', Name: 'data' },
      operationID: 'du-1',
      postOperationItems: [
        { Group: 'velero.io', Resource: 'datauploads', Namespace: 'velero', Name: 'x' },
        { Group: '', Resource: 'persistentvolumes', Namespace: '', Name: 'pv' },
      ],
    },
    status: {
      phase: 'InProgress',
      nCompleted: 5,
      nTotal: 10,
      operationUnits: 'Bytes',
      description: 'Moving',
      created: times.startTimestamp,
      started: times.startTimestamp,
      updated: times.completionTimestamp,
    },
  },
  {
    spec: {
      backupItemAction: 'example.com/other',
      resourceIdentifier: { Group: 'apps', Resource: 'deployments', Namespace: 'shop', Name: 'web' },
      operationID: 'o-2',
    },
    status: { phase: 'Failed', error: 'it broke' },
  },
]

const volumeInfo = [
  {
    pvName: 'pv-native',
    backupMethod: 'NativeSnapshot',
    result: 'succeeded',
    snapshotDataMoved: false,
    preserveLocalSnapshot: false,
    skipped: false,
    nativeSnapshotInfo: {
      snapshotHandle: 'snap-1',
      volumeType: 'ssd',
      volumeAZ: 'a',
      iops: '100',
      Phase: 'Completed',
    },
  },
  {
    pvcName: 'moved',
    pvcNamespace: 'shop',
    pvName: 'pv-moved',
    backupMethod: 'CSISnapshot',
    result: 'succeeded',
    snapshotDataMoved: true,
    preserveLocalSnapshot: false,
    skipped: false,
    snapshotDataMovementInfo: {
      dataMover: '',
      uploaderType: 'kopia',
      snapshotHandle: 'h',
      operationID: 'du-1',
      size: 1234,
      incrementalSize: 12,
      Phase: 'Completed',
    },
  },
  {
    pvcName: 'local',
    pvcNamespace: 'shop',
    pvName: 'pv-local',
    backupMethod: 'CSISnapshot',
    result: 'failed',
    snapshotDataMoved: false,
    preserveLocalSnapshot: true,
    skipped: false,
    csiSnapshotInfo: {
      snapshotHandle: 'h2',
      size: 5_000_000_000,
      driver: 'd',
      vscName: 'vsc',
      operationID: 'op',
      ReadyToUse: true,
    },
  },
  {
    pvcName: 'skipped',
    pvcNamespace: 'shop',
    snapshotDataMoved: false,
    preserveLocalSnapshot: false,
    skipped: true,
    skippedReason: 'r',
  },
]

const results = {
  warnings: { velero: ['odd'], namespaces: { shop: [' resource: /pods name: /a message: /late', 'second'] } },
  errors: { cluster: ['one\ntwo lines'] },
}

const legacyFiles = {
  'volumesnapshots.json.gz': [
    {
      spec: { persistentVolumeName: 'pv-1', volumeType: 't', volumeAZ: 'z', volumeIOPS: 7 },
      status: { providerSnapshotID: 's-1', phase: 'Completed' },
    },
    { spec: { persistentVolumeName: 'pv-2' }, status: {} },
  ],
  'csi-volumesnapshots.json.gz': [
    {
      metadata: { name: 'vs', namespace: 'shop' },
      spec: { source: { persistentVolumeClaimName: 'data' } },
      status: { boundVolumeSnapshotContentName: 'vsc-1' },
    },
  ],
  'csi-volumesnapshotcontents.json.gz': [
    { metadata: { name: 'vsc-1' }, spec: { driver: 'd' }, status: { snapshotHandle: 'h', restoreSize: 99 } },
    { metadata: { name: 'vsc-2' }, spec: { driver: 'd' } },
  ],
}

/** Backups in all the states that `describe` and `get` show differently. */
export const describedBackups: readonly DescribedBackup[] = [
  { name: 'new', spec: { ttl: '100000h0m0s' } },
  { name: 'queued', status: { phase: 'Queued', queuePosition: 2 } },
  { name: 'ready', status: { phase: 'ReadyToStart' } },
  {
    name: 'running',
    spec: {
      orLabelSelectors: [
        { matchLabels: { a: 'b' } },
        { matchExpressions: [{ key: 'c', operator: 'Exists' }] },
      ],
    },
    status: {
      phase: 'InProgress',
      formatVersion: '1.1.0',
      startTimestamp: times.startTimestamp,
      expiration: times.expiration,
      progress: { totalItems: 100, itemsBackedUp: 42 },
    },
  },
  {
    name: 'invalid',
    metadata: { labels: { 'velero.io/storage-location': 'files', a: 'b', 'a.b/c': 'd' } },
    status: {
      phase: 'FailedValidation',
      validationErrors: ['first', 'second of them'],
      expiration: times.expiration,
    },
  },
  {
    name: 'completed',
    metadata: {
      labels: { 'velero.io/schedule-name': 'daily' },
      annotations: {
        'velero.io/source-cluster-k8s-gitversion': 'v1.34.4',
        'velero.io/global-backup-volume-policy-configmap': 'global',
        long: 'ä value with spaces',
      },
    },
    spec: rich,
    status: {
      ...ended,
      phase: 'Completed',
      progress: { totalItems: 3, itemsBackedUp: 3 },
      hookStatus: { hooksAttempted: 2, hooksFailed: 1 },
    },
    files: {
      'volumeinfo.json.gz': volumeInfo,
      'resource-list.json.gz': {
        'v1/Pod': ['shop/a', 'shop/b'],
        'apps/v1/Deployment': ['shop/web'],
        'v1/Namespace': ['shop'],
      },
    },
  },
  {
    name: 'scoped',
    spec: {
      includedClusterScopedResources: ['*'],
      excludedClusterScopedResources: ['nodes'],
      includedNamespaceScopedResources: ['pods', 'secrets'],
      excludedNamespaceScopedResources: ['events'],
    },
    status: { ...ended, phase: 'Finalizing' },
    files: { 'volumeinfo.json.gz': [] },
  },
  {
    name: 'partly',
    status: { ...ended, phase: 'PartiallyFailed', warnings: 3, errors: 1 },
    files: { 'results.gz': results, 'volumeinfo.json.gz': [] },
  },
  {
    name: 'failed',
    status: { ...ended, phase: 'Failed', failureReason: 'the bucket was full', errors: 2, warnings: 1 },
  },
  {
    name: 'operations',
    status: {
      ...ended,
      phase: 'WaitingForPluginOperations',
      backupItemOperationsAttempted: 2,
      backupItemOperationsCompleted: 1,
      backupItemOperationsFailed: 1,
    },
    files: { 'itemoperations.json.gz': operations, 'volumeinfo.json.gz': [], 'resource-list.json.gz': {} },
  },
  {
    name: 'old',
    status: { ...ended, phase: 'Completed', volumeSnapshotsAttempted: 2, csiVolumeSnapshotsAttempted: 2 },
    files: legacyFiles,
  },
  {
    name: 'old-broken',
    status: { ...ended, phase: 'Completed', volumeSnapshotsAttempted: 2 },
  },
  {
    name: 'daily-20260101000000',
    status: { ...ended, phase: 'Completed', expiration: '2026-01-02T00:00:00Z' },
  },
  { name: 'daily-20260301000000', status: { ...ended, phase: 'Completed' } },
  { name: 'daily-2026', status: { ...ended, phase: 'Deleting' } },
]

/** Everything as one list for `kubectl apply`, with attempts to delete `failed` and volumes of `completed`. */
export function describedObjects(namespace: string): object {
  const objects = describedBackups.map(({ name, metadata, spec, status }) => ({
    apiVersion: 'velero.io/v1',
    kind: 'Backup',
    metadata: { name, namespace, ...metadata },
    spec: { storageLocation: 'files', ...spec },
    ...(status && { status }),
  }))
  return { apiVersion: 'v1', kind: 'List', items: [...objects, ...podVolumeBackups(namespace)] }
}

/** Attempts to delete a backup, which are found by its uid. */
export function deletionAttempts(namespace: string, backup: { name: string; uid: string }): object {
  const statuses = [{ phase: 'Processed', errors: ['no', 'really not'] }, { phase: 'InProgress' }, undefined]
  const items = statuses.map((status, at) => ({
    apiVersion: 'velero.io/v1',
    kind: 'DeleteBackupRequest',
    metadata: {
      name: `${backup.name}-${at}`,
      namespace,
      labels: { 'velero.io/backup-name': backup.name, 'velero.io/backup-uid': backup.uid },
    },
    spec: { backupName: backup.name },
    ...(status && { status }),
  }))
  return { apiVersion: 'v1', kind: 'List', items }
}

function podVolumeBackups(namespace: string): object[] {
  const statuses = [
    { phase: 'Completed', progress: { totalBytes: 10, bytesDone: 10 }, incrementalBytes: 3 },
    { phase: 'Completed', progress: { totalBytes: 10, bytesDone: 10 } },
    { phase: 'Completed' },
    { phase: 'InProgress', progress: { totalBytes: 3, bytesDone: 1 } },
    { phase: 'InProgress' },
    { phase: 'Failed' },
    { phase: 'Canceled' },
    { phase: 'Accepted' },
    undefined,
  ]
  return statuses.map((status, at) => ({
    apiVersion: 'velero.io/v1',
    kind: 'PodVolumeBackup',
    metadata: { name: `completed-${at}`, namespace, labels: { 'velero.io/backup-name': 'completed' } },
    spec: {
      // The server ends what is on a node that is gone.
      node: '',
      pod: { kind: 'Pod', namespace: 'shop', name: at % 2 === 0 ? 'web' : 'db' },
      volume: `volume-${9 - at}`,
      backupStorageLocation: 'files',
      repoIdentifier: 'r',
      uploaderType: 'kopia',
    },
    ...(status && { status }),
  }))
}

/** Writes the files of all backups into a folder that is a bucket. */
export async function writeDescribedFiles(bucket: string): Promise<void> {
  for (const { name, files = {} } of describedBackups) {
    const folder = path.join(bucket, 'backups', name)
    await mkdir(folder, { recursive: true })
    for (const [ending, document] of Object.entries(files)) {
      await writeFile(path.join(folder, `${name}-${ending}`), gzipSync(JSON.stringify(document)))
    }
  }
}
