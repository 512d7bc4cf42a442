import type { Cluster } from '../../tools/cluster/cluster.ts'
import { untilEstablished } from '../../tools/cluster/until-established.ts'
import { sceneNamespaces, setScene } from './backup-scene.ts'

/**
 * Ports below this one are chosen by the scene, the others by the cluster: of 30000 to 32767 an API server gives out those of the upper
 * band, which begins after a 32nd part of the range (KEP-3668).
 */
export const firstFreeNodePort = 30_086

/**
 * The scene of the backup tests, and what makes restoring hard: objects with several owners of their fields, with finalizers, owners,
 * status; volumes of every kind; services that want ports; what controllers make themselves. With tokens, pods get volumes whose
 * names the cluster chooses.
 */
export async function setRestoreScene(cluster: Cluster, { tokens }: { tokens: boolean }): Promise<void> {
  await setScene(cluster)
  await release(cluster)
  await apply(cluster, [buoyDefinition, ...storage, ...hooksOfServer])
  await untilEstablished(cluster, 'buoys.scene.lateen.dev')
  const objects = sceneNamespaces.flatMap((namespace, index) => [...objectsOf(namespace, { index, tokens })])
  await apply(cluster, objects)
  await apply(cluster, sceneNamespaces.flatMap(statusesOf), ['--subresource=status'])
  await apply(cluster, [shared({ second: 'b' })], ['--field-manager=second'])
  await cluster.kubectl(['create', '--field-manager=alone', '-f', '-'], { stdin: JSON.stringify(alone) })
  const bound = sceneNamespaces.map(namespace => `pv/scene-deleted-${namespace}`)
  await cluster.kubectl(['wait', '--timeout=180s', '--for=jsonpath={.status.phase}=Bound', ...bound])
  await cluster.kubectl([
    ...[
      'wait',
      '-A',
      '--timeout=180s',
      '--for=jsonpath={.status.replicas}=1',
      'replicaset',
      '-l',
      'part=rig',
    ],
  ])
}

/** Takes the scene away again, as if the cluster were lost. */
export async function clearRestoreScene(cluster: Cluster): Promise<void> {
  const gone = (resource: string, ...names: string[]) =>
    cluster.kubectl(['delete', resource, '--ignore-not-found', ...names])
  await cluster.kubectl(['patch', 'configmap', 'held', '-n', 'app-red', '--type=merge', '-p', unheld])
  await Promise.all([
    gone('namespace', ...sceneNamespaces),
    gone('crd', ...['sails', 'harbours', 'buoys'].map(plural => `${plural}.scene.lateen.dev`)),
    gone('storageclass', 'scene-by-hand', 'scene-nobody'),
    gone('clusterrolebinding', 'scene:sailors'),
    gone('validatingwebhookconfiguration', 'scene-hook'),
    gone('priorityclass', 'scene-high'),
  ])
  const volumes = sceneNamespaces.flatMap(name => [`scene-${name}`, `scene-deleted-${name}`])
  await gone('pv', ...volumes, 'scene-free')
}

const unheld = JSON.stringify({ metadata: { finalizers: null } })

/** Nothing of the scene is being deleted any more. */
async function release(cluster: Cluster): Promise<void> {
  const patch = ['--type=merge', '-p', unheld]
  await Promise.all(
    sceneNamespaces.map(name => cluster.kubectl(['patch', 'configmap', 'ending', '-n', name, ...patch])),
  )
}

async function apply(
  cluster: Cluster,
  items: readonly object[],
  flags: readonly string[] = [],
): Promise<void> {
  const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  await cluster.kubectl(['apply', '--server-side', ...flags, '-f', '-'], { stdin })
}

function statusesOf(namespace: string): object[] {
  const buoy = {
    apiVersion: 'scene.lateen.dev/v1',
    kind: 'Buoy',
    status: { lit: true, since: { year: 1999 } },
  }
  return [
    { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'done', namespace }, status: { phase: 'Succeeded' } },
    ...['lit', 'marked'].map(name => ({ ...buoy, metadata: { name, namespace } })),
  ]
}

const buoyDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'buoys.scene.lateen.dev' },
  spec: {
    group: 'scene.lateen.dev',
    scope: 'Namespaced',
    names: { kind: 'Buoy', plural: 'buoys', singular: 'buoy' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}

const storage = [
  {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'scene-nobody' },
    provisioner: 'lateen.dev/nobody',
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'WaitForFirstConsumer',
  },
  volume('scene-free', 'Retain', { storageClassName: 'scene-free' }),
  ...sceneNamespaces.map(namespace => ({
    ...volume(`scene-deleted-${namespace}`, 'Delete', {
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name: 'deleted', namespace },
    }),
  })),
]

function volume(name: string, policy: string, more: object) {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name, annotations: { 'lateen.dev/kept': 'yes' } },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '2Gi' },
      storageClassName: 'scene-by-hand',
      persistentVolumeReclaimPolicy: policy,
      csi: { driver: 'nobody.lateen.dev', volumeHandle: name },
      ...more,
    },
  }
}

const hooksOfServer = [
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'scene-hook' },
    webhooks: [
      {
        name: 'hook.scene.lateen.dev',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Ignore',
        clientConfig: { url: 'https://127.0.0.1:1/nothing' },
        rules: [
          { apiGroups: ['none.lateen.dev'], apiVersions: ['v1'], resources: ['nothings'], operations: ['*'] },
        ],
      },
    ],
  },
]

const shared = (data: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'shared', namespace: 'app-red' },
  data,
})

const held = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'held', namespace: 'app-red', finalizers: ['lateen.dev/scene'] },
}

const alone = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'alone', namespace: 'app-red' },
  data: { a: '1' },
}

function* objectsOf(
  namespace: string,
  { index, tokens }: { index: number; tokens: boolean },
): Iterable<object> {
  if (namespace === 'app-red') yield* [shared({ first: 'a' }), held]
  yield* accountsOf(namespace, tokens)
  yield* claimsOf(namespace)
  yield* servicesOf(namespace, index)
  yield* podsOf(namespace, tokens)
  yield* buoysOf(namespace)
  yield* settingsOf(namespace)
}

function* accountsOf(namespace: string, tokens: boolean): Iterable<object> {
  const metadata = { name: 'captain', namespace }
  yield {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata,
    secrets: [{ name: 'plain-0' }, { name: 'captain-token-abcde' }],
    imagePullSecrets: [{ name: 'plain-1' }, { name: 'captain-dockercfg-abcde' }],
  }
  const type = 'kubernetes.io/service-account-token'
  const annotations = { 'kubernetes.io/service-account.name': 'captain' }
  // The second one looks as if the cluster had made it, and such are not restored.
  for (const name of tokens ? ['own-token', 'captain-token-xyz12'] : []) {
    yield { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace, annotations }, type }
  }
}

function* claimsOf(namespace: string): Iterable<object> {
  const claim = (name: string, spec: object) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace, annotations: { 'lateen.dev/kept': 'yes' } },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
  })
  yield claim('deleted', { storageClassName: 'scene-by-hand', volumeName: `scene-deleted-${namespace}` })
  yield claim('pending', { storageClassName: 'scene-nobody' })
}

function* servicesOf(namespace: string, index: number): Iterable<object> {
  const service = (name: string, spec: object) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace },
    spec: { ports: [{ name: 'main', port: 80 }], ...spec },
  })
  yield service('nodes', {
    type: 'NodePort',
    ports: [
      { name: 'chosen', port: 80, nodePort: 30_010 + index },
      { name: 'given', port: 81 },
    ],
  })
  yield service('balanced', {
    type: 'LoadBalancer',
    externalTrafficPolicy: 'Local',
    healthCheckNodePort: 30_020 + index,
    ports: [{ name: 'main', port: 80, nodePort: 30_030 + index }],
  })
  yield service('headless', { clusterIP: 'None' })
  yield service('outside', { type: 'ExternalName', externalName: 'example.com', ports: [] })
  yield service('by-hand', {})
  yield {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'by-hand', namespace },
    subsets: [{ addresses: [{ ip: '192.0.2.7' }], ports: [{ name: 'main', port: 80 }] }],
  }
}

function* podsOf(namespace: string, automountServiceAccountToken: boolean): Iterable<object> {
  const spec = {
    schedulerName: 'nobody',
    automountServiceAccountToken,
    containers: [{ name: 'main', image: 'none' }],
  }
  yield { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'done', namespace }, spec }
  yield {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'with-token', namespace },
    spec: { ...spec, serviceAccountName: 'captain', initContainers: [{ name: 'first', image: 'none' }] },
  }
  const labels = { part: 'rig' }
  yield { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'rig-1', namespace, labels }, spec }
  yield {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name: 'rig', namespace, labels },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  }
  yield {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: 'nightly', namespace },
    spec: {
      schedule: '@daily',
      suspend: true,
      jobTemplate: { spec: { template: { spec: { ...spec, restartPolicy: 'Never' } } } },
    },
  }
}

function* buoysOf(namespace: string): Iterable<object> {
  const buoy = (name: string, metadata: object) => ({
    apiVersion: 'scene.lateen.dev/v1',
    kind: 'Buoy',
    metadata: { name, namespace, ...metadata },
    spec: { depth: 7.5, large: 9007199254740991 },
  })
  yield buoy('lit', { labels: { tier: 'web' } })
  yield buoy('marked', { annotations: { 'velero.io/restore-status': 'true' } })
}

function* settingsOf(namespace: string): Iterable<object> {
  const metadata = (name: string) => ({ name, namespace })
  yield {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: metadata('fixed'),
    immutable: true,
    data: { a: '1' },
  }
  yield {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: metadata('keep'),
    spec: { minAvailable: 0, selector: { matchLabels: { part: 'rig' } } },
  }
  yield {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: metadata('limits'),
    spec: { hard: { 'count/deployments.apps': '50' } },
  }
  yield {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: metadata('door'),
    spec: { defaultBackend: { service: { name: 'web', port: { number: 80 } } } },
  }
}

/** ConfigMaps of a server's namespace that make its actions change what they restore. */
export function actionSettings(namespace: string): object[] {
  const settings = (action: string, data: Record<string, string>) => {
    const labels = { 'velero.io/plugin-config': '', [`velero.io/${action}`]: 'RestoreItemAction' }
    return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: action, namespace, labels }, data }
  }
  return [
    settings('change-storage-class', { 'scene-nobody': 'scene-by-hand' }),
    settings('change-image-name', { first: 'none,registry.example/other' }),
  ]
}
