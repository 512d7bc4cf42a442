import path from 'node:path'
import type { Cluster } from '../../tools/cluster/cluster.ts'

/** Makes a namespace with claims of volumes of the test driver, and waits until each has its volume. */
export async function makeClaims(
  { kubectl, csi }: Cluster,
  { namespace, names, size }: { namespace: string; names: readonly string[]; size: string },
): Promise<void> {
  const items = names.map(name => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace },
    spec: {
      storageClassName: csi.storageClass,
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: size } },
    },
  }))
  await kubectl(['create', 'namespace', namespace])
  await kubectl(['create', '-f', '-'], { stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }) })
  const bound = ['wait', '-n', namespace, '--for=jsonpath={.status.phase}=Bound', '--timeout=300s']
  await kubectl([...bound, 'pvc', '--all'])
}

/** The folder that is the volume of a claim, on this machine. */
export async function folderOf(
  { kubectl, csi }: Cluster,
  { namespace, claim }: { namespace: string; claim: string },
): Promise<string> {
  const volume = await kubectl(['get', 'pvc', claim, '-n', namespace, '-o=jsonpath={.spec.volumeName}'])
  const handle = await kubectl(['get', 'pv', volume, '-o=jsonpath={.spec.csi.volumeHandle}'])
  return path.join(csi.stateFolder, 'volumes', handle, 'content')
}
