import type { Cluster } from '../../tools/cluster/cluster.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'

/** A class of the driver's name, for volumes that nobody provides. */
export function storageClassManifest(driver: string) {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: driver },
    provisioner: driver,
    reclaimPolicy: 'Retain',
  }
}

export function snapshotClassManifest(
  name: string,
  driver: string,
  annotations: Record<string, string> = {},
) {
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotClass',
    metadata: { name, annotations },
    driver,
    deletionPolicy: 'Delete',
  }
}

/** A bound claim with a volume of a driver that does not run. */
export function foreignVolume(namespace: string, name: string, driver: string): object[] {
  const storage = '1Mi'
  const shared = { accessModes: ['ReadWriteOnce'], storageClassName: driver }
  return [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name, labels: { 'test.lateen.dev/own': 'yes' } },
      spec: {
        ...shared,
        capacity: { storage },
        persistentVolumeReclaimPolicy: 'Retain',
        csi: { driver, volumeHandle: name },
        claimRef: { namespace, name },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, namespace },
      spec: { ...shared, volumeName: name, resources: { requests: { storage } } },
    },
  ]
}

/** Has the API server refuse that any content of a snapshot is to be kept, until this is disposed of. */
export async function refuseRetain({ kubectl }: Pick<Cluster, 'kubectl'>): Promise<AsyncDisposable> {
  const name = 'nothing-is-kept'
  const apiVersion = 'admissionregistration.k8s.io/v1'
  const rule = {
    apiGroups: ['snapshot.storage.k8s.io'],
    apiVersions: ['*'],
    operations: ['CREATE', 'UPDATE'],
    resources: ['volumesnapshotcontents'],
  }
  const validation = {
    expression: "object.spec.deletionPolicy != 'Retain'",
    message: 'nothing is kept here',
  }
  const items = [
    {
      apiVersion,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name },
      spec: { matchConstraints: { resourceRules: [rule] }, validations: [validation] },
    },
    {
      apiVersion,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    },
  ]
  await kubectl(['apply', '-f', '-'], { stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }) })
  const isRefused = () =>
    kubectl(['create', '--dry-run=server', '-f', '-'], { stdin: JSON.stringify(probe) }).then(
      () => false,
      (error: Error) => error.message.includes(validation.message),
    )
  const waitFor = async (refused: boolean) => {
    await waitUntil(async () => (await isRefused()) === refused, {
      timeoutMs: 60_000,
      failure: () => new Error(`the API server does ${refused ? 'not ' : ''}refuse`),
    })
  }
  await waitFor(true)
  let isOver = false
  return {
    async [Symbol.asyncDispose]() {
      if (isOver) return
      isOver = true
      const kinds = 'validatingadmissionpolicybinding,validatingadmissionpolicy'
      await kubectl(['delete', kinds, name])
      await waitFor(false)
    },
  }
}

const probe = {
  apiVersion: 'snapshot.storage.k8s.io/v1',
  kind: 'VolumeSnapshotContent',
  metadata: { name: 'probe' },
  spec: {
    deletionPolicy: 'Retain',
    driver: 'none.example',
    source: { snapshotHandle: 'none' },
    volumeSnapshotRef: { namespace: 'default', name: 'none' },
  },
}
