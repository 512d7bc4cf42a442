import type { Cluster } from '../../tools/cluster/cluster.ts'
import { untilEstablished } from '../../tools/cluster/until-established.ts'
import { untilPodsMade } from '../../tools/cluster/until-pods-made.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'

/** Namespaces of the scene. */
export const sceneNamespaces = ['app-red', 'app-green', 'data-blue'] as const

/** Labels that the objects of the scene have, in all combinations, and some have none. */
export const sceneLabels = { tier: ['web', 'db'], env: ['prod', 'test'] } as const

type Labels = Record<string, string>

interface Place {
  namespace: string
  labels: Labels
}

/**
 * Objects of many kinds, related in the ways that backups follow, in a cluster that then keeps still: no pod is ever scheduled and
 * nobody writes events about it, so that two backups one after the other see the same.
 */
export async function setScene(cluster: Cluster): Promise<void> {
  const apply = (items: readonly object[]) =>
    cluster.kubectl(['apply', '--server-side', '-f', '-'], {
      stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
    })
  await apply([...sceneNamespaces.map((name, index) => namespaceObject(name, index)), ...definitions])
  await untilEstablished(cluster, ...definitions.map(({ metadata }) => metadata.name))
  await apply([...clusterObjects, ...sceneNamespaces.flatMap(namespace => objectsIn(namespace))])
  await untilPodsMade(cluster, sceneNamespaces.map(podIn))
  await cluster.kubectl(['delete', 'configmap', '-A', '-l', 'scene=ending', '--wait=false'])
  const wait = (condition: string, what: string) =>
    cluster.kubectl(['wait', '-A', '--timeout=180s', `--for=${condition}`, what, '--all'])
  await wait('jsonpath={.status.phase}=Bound', 'pvc')
  const isSeen = 'jsonpath={.status.observedGeneration}=1'
  await wait(isSeen, 'deployment')
  // A deployment is seen when its replica set has been made.
  for (const what of ['replicaset', 'statefulset']) await wait(isSeen, what)
  await wait('condition=Suspended', 'job')
  for (const [what, which] of madeByCluster) {
    await waitUntil(() => isEverywhere(cluster, what, which), {
      timeoutMs: 180_000,
      failure: () => new Error(`not every namespace of the scene has its ${what}, ${which}`),
    })
  }
}

/** What every namespace, or its Service, gets a moment after it was made. */
const madeByCluster = [
  ['configmap', '--field-selector=metadata.name=kube-root-ca.crt'],
  ['endpoints', '--field-selector=metadata.name=web'],
  ['endpointslice', '--selector=kubernetes.io/service-name=web'],
] as const

async function isEverywhere(cluster: Cluster, what: string, which: string): Promise<boolean> {
  const places = '-o=jsonpath={.items[*].metadata.namespace}'
  const found = (await cluster.kubectl(['get', what, '-A', which, places])).split(' ')
  return sceneNamespaces.every(name => found.includes(name))
}

function namespaceObject(name: string, index: number) {
  const labels = { tier: sceneLabels.tier[index % 2] ?? '' }
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, ...(index < 2 && { labels }) } }
}

const definitions = [
  definition({ plural: 'sails', kind: 'Sail', scope: 'Namespaced', versions: ['v1', 'v1beta1'] }),
  definition({ plural: 'harbours', kind: 'Harbour', scope: 'Cluster', versions: ['v1'] }),
]

function definition(names: { plural: string; kind: string; scope: string; versions: readonly string[] }) {
  const { plural, kind, scope, versions } = names
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.scene.lateen.dev` },
    spec: {
      group: 'scene.lateen.dev',
      scope,
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: versions.map((name, index) => ({
        name,
        served: true,
        storage: index === 0,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      })),
    },
  }
}

const rbac = 'rbac.authorization.k8s.io/v1'

const clusterObjects: object[] = [
  { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name: 'scene-high' }, value: 10 },
  {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'scene-by-hand', labels: { tier: 'db' } },
    provisioner: 'lateen.dev/none',
  },
  { apiVersion: rbac, kind: 'ClusterRole', metadata: { name: 'scene:sailor' }, rules: [] },
  {
    apiVersion: rbac,
    kind: 'ClusterRole',
    metadata: { name: 'scene:lone rôle', labels: { tier: 'web' } },
    rules: [],
  },
  {
    apiVersion: rbac,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'scene:sailors' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'scene:sailor' },
    subjects: [{ kind: 'ServiceAccount', name: 'sailor', namespace: 'app-red' }],
  },
  {
    apiVersion: 'scene.lateen.dev/v1',
    kind: 'Harbour',
    metadata: { name: 'north', labels: { env: 'prod' } },
    depth: 12,
  },
  ...sceneNamespaces.map(namespace => ({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `scene-${namespace}`, labels: { env: 'test' } },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      storageClassName: 'scene-by-hand',
      persistentVolumeReclaimPolicy: 'Retain',
      hostPath: { path: `/tmp/scene-${namespace}` },
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name: 'data', namespace },
    },
  })),
]

function objectsIn(namespace: string): object[] {
  const combinations: Labels[] = [
    {},
    ...sceneLabels.tier.flatMap(tier => sceneLabels.env.map(env => ({ tier, env }))),
  ]
  return [
    ...combinations.flatMap((labels, index) => plainObjects({ namespace, labels }, index)),
    ...workloads({ namespace, labels: { tier: 'web', env: 'prod' } }),
    ...volumes({ namespace, labels: { tier: 'db' } }),
    ...accounts({ namespace, labels: { env: 'test' } }),
    ...specialObjects(namespace),
  ]
}

function plainObjects({ namespace, labels }: Place, index: number): object[] {
  const metadata = { name: `plain-${index}`, namespace, labels }
  return [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { index: `${index}` } },
    { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { password: `secret ${index}` } },
    { apiVersion: 'scene.lateen.dev/v1', kind: 'Sail', metadata, area: index },
  ]
}

function workloads({ namespace, labels }: Place): object[] {
  const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'none' }] } }
  const selector = { matchLabels: labels }
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace, labels },
      spec: { replicas: 0, selector, template },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'store', namespace },
      spec: { replicas: 0, selector, template, serviceName: 'web' },
    },
    {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'once', namespace, labels: { env: 'test' } },
      spec: { suspend: true, template: { spec: { ...template.spec, restartPolicy: 'Never' } } },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace, labels },
      spec: { selector: labels, ports: [{ port: 80 }] },
    },
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: 'closed', namespace },
      spec: { podSelector: {}, policyTypes: ['Ingress'] },
    },
  ]
}

function volumes({ namespace, labels }: Place): object[] {
  return [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'data', namespace, labels },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'scene-by-hand',
        volumeName: `scene-${namespace}`,
        resources: { requests: { storage: '1Gi' } },
      },
    },
  ]
}

function podIn(namespace: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'db', namespace, labels: { env: 'prod' } },
    spec: {
      // Nobody schedules it, and so nobody writes events about it.
      schedulerName: 'nobody',
      priorityClassName: 'scene-high',
      automountServiceAccountToken: false,
      containers: [{ name: 'main', image: 'none' }],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
    },
  }
}

function accounts({ namespace, labels }: Place): object[] {
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'sailor', namespace, labels } },
    { apiVersion: rbac, kind: 'Role', metadata: { name: 'scene:reader', namespace }, rules: [] },
    {
      apiVersion: rbac,
      kind: 'RoleBinding',
      metadata: { name: 'scene:readers', namespace, labels },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'scene:reader' },
      subjects: [{ kind: 'ServiceAccount', name: 'sailor', namespace }],
    },
  ]
}

function specialObjects(namespace: string): object[] {
  return [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: 'hidden',
        namespace,
        labels: { 'velero.io/exclude-from-backup': 'true', tier: 'web' },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: 'ending',
        namespace,
        finalizers: ['lateen.dev/scene'],
        labels: { tier: 'web', scene: 'ending' },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: 'a.name-with.dots',
        namespace,
        annotations: { 'lateen.dev/text': 'ü \u2028 "quoted" <b>' },
      },
      binaryData: { bytes: Buffer.from([0, 255, 128]).toString('base64') },
    },
  ]
}
