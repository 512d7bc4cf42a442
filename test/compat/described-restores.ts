import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { gzipSync } from 'node:zlib'

/** A restore to describe, and the files it has in the bucket. */
export interface DescribedRestore {
  readonly name: string
  readonly metadata?: object
  readonly spec?: object
  readonly status?: object
  /** JSON documents by their name, with % for that of the restore. */
  readonly files?: Readonly<Record<string, unknown>>
}

const times = { startTimestamp: '2026-01-02T03:04:05Z', completionTimestamp: '2026-07-02T03:05:06Z' }

const rich = {
  includedNamespaces: ['shop', 'team'],
  excludedNamespaces: ['team-old'],
  includedResources: ['pods', 'deployments.apps'],
  excludedResources: ['events', 'nodes'],
  includeClusterResources: false,
  namespaceMapping: { shop: 'shop-copy', a: 'b' },
  labelSelector: {
    matchLabels: { app: 'web' },
    matchExpressions: [
      { key: 'tier', operator: 'In', values: ['front', 'back'] },
      { key: 'test', operator: 'DoesNotExist' },
    ],
  },
  restorePVs: true,
  preserveNodePorts: false,
  existingResourcePolicy: 'update',
  itemOperationTimeout: '4h0m0s',
  resourceModifier: { apiGroup: '', kind: 'configmap', name: 'modifiers' },
  resourcePolicy: { kind: 'configmap', name: 'policies' },
  uploaderConfig: { writeSparseFiles: true, parallelFilesDownload: 4 },
  restoreStatus: { includedResources: ['*'] },
}

const operations = [
  {
    spec: {
      restoreName: 'operations',
      restoreUID: 'u',
      restoreItemAction: 'velero.io/csi-pvc-restorer',
      resourceIdentifier: { Group: '', Resource: 'persistentvolumeclaims', Namespace: 'shop', Name: 'data' },
      operationID: 'dd-1',
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
      restoreItemAction: 'example.com/other',
      resourceIdentifier: { Group: 'apps', Resource: 'deployments', Namespace: 'shop', Name: 'web' },
      operationID: 'o-2',
    },
    status: { phase: 'Failed', error: 'it broke' },
  },
]

const volumeInfo = [
  {
    pvcName: 'moved',
    pvcNamespace: 'shop',
    restoreMethod: 'CSISnapshot',
    snapshotDataMoved: true,
    snapshotDataMovementInfo: { dataMover: 'velero', uploaderType: 'kopia', operationID: 'dd-1' },
  },
  {
    pvcName: 'local',
    pvcNamespace: 'shop',
    restoreMethod: 'CSISnapshot',
    snapshotDataMoved: false,
    csiSnapshotInfo: { snapshotHandle: 'h2', size: 5, driver: 'd', vscName: 'vsc' },
  },
  { pvName: 'pv', restoreMethod: 'NativeSnapshot', snapshotDataMoved: false, nativeSnapshotInfo: {} },
]

const results = {
  warnings: {
    velero: ['odd'],
    namespaces: { shop: ['could not restore, pods "a" already exists', 'second'] },
  },
  errors: { cluster: ['one\ntwo lines'] },
}

/** Restores in all the states that `describe` and `get` show differently, all of the backup `whole`. */
export const describedRestores: readonly DescribedRestore[] = [
  { name: 'new' },
  {
    name: 'running',
    spec: {
      includedNamespaces: ['*'],
      uploaderConfig: {},
      orLabelSelectors: [
        { matchLabels: { a: 'b' } },
        { matchExpressions: [{ key: 'c', operator: 'Exists' }] },
      ],
    },
    status: {
      phase: 'InProgress',
      startTimestamp: times.startTimestamp,
      progress: { totalItems: 100, itemsRestored: 42 },
    },
  },
  {
    name: 'invalid',
    metadata: { labels: { a: 'b', 'a.b/c': 'd' } },
    status: { phase: 'FailedValidation', validationErrors: ['first', 'second of them'] },
  },
  {
    name: 'completed',
    metadata: { annotations: { long: 'ä value with spaces' } },
    spec: rich,
    status: {
      ...times,
      phase: 'Completed',
      progress: { totalItems: 3, itemsRestored: 3 },
      hookStatus: { hooksAttempted: 2, hooksFailed: 1 },
    },
    files: {
      '%-volumeinfo.json.gz': volumeInfo,
      'restore-%-resource-list.json.gz': {
        'v1/Pod': ['shop/a(created)', 'shop/b(failed)'],
        'apps/v1/Deployment': ['shop/web(updated)'],
        'v1/Namespace': ['shop(skipped)'],
      },
    },
  },
  {
    name: 'partly',
    spec: { uploaderConfig: { writeSparseFiles: false }, includeClusterResources: true },
    status: { ...times, phase: 'PartiallyFailed', warnings: 3, errors: 1 },
    files: { 'restore-%-results.gz': results, '%-volumeinfo.json.gz': [] },
  },
  {
    name: 'warned',
    status: { ...times, phase: 'Completed', warnings: 1 },
    files: { 'restore-%-results.gz': { warnings: {}, errors: {} }, '%-volumeinfo.json.gz': null },
  },
  {
    name: 'failed',
    status: { ...times, phase: 'Failed', failureReason: 'the bucket was gone', errors: 2, warnings: 1 },
  },
  {
    name: 'failed-validated',
    status: { ...times, phase: 'Failed', errors: 1, validationErrors: ['odd'] },
  },
  {
    name: 'operations',
    status: {
      ...times,
      phase: 'WaitingForPluginOperations',
      restoreItemOperationsAttempted: 2,
      restoreItemOperationsCompleted: 1,
      restoreItemOperationsFailed: 1,
    },
    files: {
      'restore-%-itemoperations.json.gz': operations,
      '%-volumeinfo.json.gz': [],
      'restore-%-resource-list.json.gz': {},
    },
  },
  {
    name: 'operations-lost',
    status: {
      phase: 'WaitingForPluginOperationsPartiallyFailed',
      startTimestamp: times.startTimestamp,
      restoreItemOperationsAttempted: 1,
    },
  },
  {
    name: 'finalizing',
    status: { phase: 'FinalizingPartiallyFailed', startTimestamp: times.startTimestamp, errors: 1 },
    files: { 'restore-%-results.gz': results },
  },
  {
    name: 'deleting',
    metadata: { finalizers: ['test.lateen.dev/stays'] },
    status: { ...times, phase: 'Completed' },
  },
]

/** Everything as one list for `kubectl apply`, with the backup and volumes of `completed`. */
export function describedRestoreObjects(namespace: string): object {
  const backup = {
    apiVersion: 'velero.io/v1',
    kind: 'Backup',
    metadata: { name: 'whole', namespace },
    spec: { storageLocation: 'files' },
    status: { phase: 'Completed' },
  }
  const restores = describedRestores.map(({ name, metadata, spec, status }) => ({
    apiVersion: 'velero.io/v1',
    kind: 'Restore',
    metadata: { name, namespace, ...metadata },
    spec: { backupName: 'whole', ...spec },
    ...(status && { status }),
  }))
  return { apiVersion: 'v1', kind: 'List', items: [backup, ...restores, ...podVolumeRestores(namespace)] }
}

function podVolumeRestores(namespace: string): object[] {
  const statuses = [
    { phase: 'Completed', progress: { totalBytes: 10, bytesDone: 10 } },
    { phase: 'Completed' },
    { phase: 'InProgress', progress: { totalBytes: 3, bytesDone: 1 } },
    { phase: 'InProgress' },
    { phase: 'Failed' },
    { phase: 'Canceled' },
    { phase: 'Accepted' },
    { phase: 'Prepared' },
    undefined,
  ]
  return statuses.map((status, at) => ({
    apiVersion: 'velero.io/v1',
    kind: 'PodVolumeRestore',
    metadata: { name: `completed-${at}`, namespace, labels: { 'velero.io/restore-name': 'completed' } },
    spec: {
      pod: { kind: 'Pod', namespace: 'shop', name: at % 2 === 0 ? 'web' : 'db' },
      volume: `volume-${9 - at}`,
      backupStorageLocation: 'files',
      repoIdentifier: 'r',
      uploaderType: 'kopia',
      snapshotID: 's',
      sourceNamespace: 'shop',
    },
    ...(status && { status }),
  }))
}

/** Writes the files of all restores into a folder that is a bucket. */
export async function writeRestoreFiles(bucket: string): Promise<void> {
  for (const { name, files = {} } of describedRestores) {
    const folder = path.join(bucket, 'restores', name)
    await mkdir(folder, { recursive: true })
    for (const [file, document] of Object.entries(files)) {
      await writeFile(path.join(folder, file.replace('%', name)), gzipSync(JSON.stringify(document)))
    }
  }
}
