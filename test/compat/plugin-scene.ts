/** Where the objects are that the examples act on. */
export const shop = 'shop'

export interface ShopPlaces {
  /** The folder that is the volume. */
  volume: string
  /** Where the snapshotter keeps its folders. */
  snapshots: string
  /** Of the server. */
  namespace: string
}

/** Objects for every example to find, and a snapshot location. */
export function shopObjects({ volume, snapshots, namespace }: ShopPlaces): object[] {
  const labelled = (name: string) => ({ [`example.lateen.dev/${name}`]: 'true' })
  const annotated = (name: string, value: string) => ({ [`example.lateen.dev/${name}`]: value })
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: shop } },
    configMap('noted', { labels: labelled('noted') }),
    secret('noted'),
    configMap('copied', { labels: labelled('copied'), annotations: annotated('seconds', '40') }),
    secret('copied'),
    configMap('once', { annotations: annotated('once', 'true') }),
    configMap('left', { annotations: annotated('with', 'right') }),
    configMap('right', {}),
    pod(),
    ...volumeAndClaim(volume),
    {
      apiVersion: 'velero.io/v1',
      kind: 'VolumeSnapshotLocation',
      metadata: { name: 'folders', namespace },
      spec: { provider: 'example.lateen.dev/folder', config: { path: snapshots } },
    },
  ]
}

/** Velero looks for its own Deployment when it restores. */
export const deploymentOfServer = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'velero', namespace: 'velero' },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: 'velero' } },
    template: {
      metadata: { labels: { app: 'velero' } },
      spec: { containers: [{ name: 'velero', image: 'velero/velero:v1.18.3' }] },
    },
  },
}

function configMap(name: string, metadata: object): object {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: shop, ...metadata },
    data: { name },
  }
}

function secret(name: string): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: shop }, stringData: { name } }
}

function pod(): object {
  const envFrom = [{ configMapRef: { name: 'right' } }]
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'till', namespace: shop },
    spec: { automountServiceAccountToken: false, containers: [{ name: 'till', image: 'till', envFrom }] },
  }
}

function volumeAndClaim(folder: string): object[] {
  const shared = { accessModes: ['ReadWriteOnce'], storageClassName: '' }
  return [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'shelf-volume' },
      spec: { ...shared, capacity: { storage: '1Mi' }, hostPath: { path: folder } },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'shelf', namespace: shop },
      spec: { ...shared, volumeName: 'shelf-volume', resources: { requests: { storage: '1Mi' } } },
    },
  ]
}

/** Where the objects are that the odd plugin acts on. */
export const oddPlace = 'odd'

/** Objects that bring the odd plugin's program to say odd things and to end, with many good ones after each. */
export function oddObjects(): object[] {
  const names = ['logs', 'prints', 'exits', 'throws-later', 'rejects-later']
  const object = (name: string, odd: string) => {
    const labels = { 'example.com/odd': odd }
    return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: oddPlace, labels } }
  }
  const objects = names.flatMap((odd, round) => {
    // Velero loses many after a program's end before it notices, and what is left before the last round is looked at.
    const count = round === 4 ? 500 : 100
    const fine = Array.from({ length: count }, (_, index) => object(`${round}-fine-${index}`, 'fine'))
    return [object(`${round}-${odd}`, odd), ...fine]
  })
  return [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: oddPlace } }, ...objects]
}
