import { nodeName } from '../../tools/cluster/cluster-layout.ts'
import { busyboxImageName } from '../../tools/image/busybox-image.ts'
import { filesPodManifest } from './fs-scene.ts'

/** A claim with the volume that it is bound to, on the node. */
export function claimOn(
  namespace: string,
  {
    name,
    volumeMode,
    source,
  }: {
    name: string
    volumeMode: string
    source: object
  },
): object[] {
  const shared = { volumeMode, accessModes: ['ReadWriteOnce'], storageClassName: '' }
  const volumeName = `${namespace}-${name}`
  const key = 'kubernetes.io/hostname'
  const terms = [{ matchExpressions: [{ key, operator: 'In', values: [nodeName] }] }]
  return [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: volumeName },
      spec: {
        ...shared,
        ...source,
        capacity: { storage: '1Mi' },
        nodeAffinity: { required: { nodeSelectorTerms: terms } },
        claimRef: { namespace, name },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, namespace },
      spec: { ...shared, volumeName, resources: { requests: { storage: '1Mi' } } },
    },
  ]
}

/** A pod with a block volume, which need not run. */
export function blockPod(namespace: string): object {
  const pod = filesPodManifest({ namespace, name: 'block', volumes: {} })
  const [main] = pod.spec.containers
  return {
    ...pod,
    spec: {
      ...pod.spec,
      nodeName,
      containers: [{ ...main, volumeDevices: [{ name: 'device', devicePath: '/dev/x' }] }],
      volumes: [{ name: 'device', persistentVolumeClaim: { claimName: 'block' } }],
    },
  }
}

/** The manifest of a pod that waits for its volumes as a restored one does, for as long as it lives. */
export function waitingPodManifest(namespace: string, name: string, volumes: Record<string, object>): object {
  const pod = filesPodManifest({ namespace, name, volumes })
  const [main] = pod.spec.containers
  const wait = { ...main, name: 'restore-wait', image: busyboxImageName }
  return { ...pod, spec: { ...pod.spec, initContainers: [wait] } }
}
