import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { type Restore, RestoreKind } from '@lateen/api'
import { createKubeClient, type KubeClient, type KubeObject, loadKubeConfig } from '@lateen/kube'
import { tool } from '../../tools/binaries/tool.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { startVeleroServer, type VeleroServer } from '../../tools/velero/velero-server.ts'
import { BackupBucket, type Unpacked } from '../cluster/backup-bucket.ts'
import { Backups, createLocation, credentialsIn } from '../cluster/backups.ts'
import { ended } from '../cluster/cli-runner.ts'
import {
  Locations,
  prepareCluster,
  type RunningServer,
  startServer,
} from '../cluster/storage-location-harness.ts'
import { veleroMissing } from './backup-pair.ts'
import { sceneNamespaces, setScene } from './backup-scene.ts'
import { remainsAfterRestore } from './restored-object.ts'

const missing = await veleroMissing()
const given = await givenCluster({ s3: true, own: true })
const skip = missing || given.skip
const namespace = 'velero'
const copyOf = (name: string) => `copy-of-${name}`

/** Velero restores no events; slices that a controller makes for a service it takes away again and makes anew. */
const notRestored = ['events', 'events.events.k8s.io', 'endpointslices.discovery.k8s.io']

describe('a backup that Lateen took and Velero restores', { skip, concurrency: false }, () => {
  let client: KubeClient
  let backups: Backups
  let bucket: BackupBucket
  let ours: RunningServer | undefined
  let theirs: VeleroServer | undefined
  let stored: Unpacked
  let folder = ''

  before(async () => {
    const { cluster } = given
    folder = await mkdtemp(path.join(tmpdir(), 'lateen-restored-'))
    process.env.AWS_SHARED_CREDENTIALS_FILE = path.join(folder, 'credentials')
    await writeFile(process.env.AWS_SHARED_CREDENTIALS_FILE, credentialsIn(cluster))
    await setScene(cluster)
    await prepareCluster(cluster, namespace)
    client = await createKubeClient({ config: await loadKubeConfig({ path: cluster.kubeconfigPath }) })
    backups = new Backups(client, namespace)
    bucket = new BackupBucket(cluster, namespace)
    await createLocation({ cluster, client, namespace }, { prefix: namespace, secret: false })
    ours = await startServer({ namespace, kubeconfig: cluster.kubeconfigPath, version: 'v7.7.7-test' })
    await new Locations(client, namespace).available('default')
  })

  after(async () => {
    await ours?.[Symbol.asyncDispose]()
    await theirs?.stop()
    bucket?.[Symbol.dispose]()
    await client?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  async function velero(...args: string[]): Promise<string> {
    const env = { PATH: '', HOME: folder, TZ: 'UTC', KUBECONFIG: given.cluster.kubeconfigPath }
    const end = await ended(await tool('velero'), ['--namespace', namespace, ...args], { stdin: '', env })
    assert.equal(end.status, 0, `velero ${args.join(' ')}: ${end.stderr}`)
    return end.stdout
  }

  it('completes without errors', async () => {
    const { status } = await backups.take('scene', { includedNamespaces: [...sceneNamespaces] })
    assert.equal(status?.phase, 'Completed')
    stored = await bucket.unpack('scene')
    assert.equal(status?.progress?.itemsBackedUp, [...stored.keys()].filter(isPreferred).length)
  })

  it('is shown by the velero command line while our server hands out its files', async () => {
    assert.match(await velero('version', '--timeout=60s'), /Server:\n\tVersion: v7\.7\.7-test/)
    const details = await velero('backup', 'describe', 'scene', '--details', '--colorized=false')
    assert.match(details, /^Phase:\s+Completed$/m)
    for (const line of [
      'v1/ConfigMap:',
      '- app-red/plain-0',
      'scene.lateen.dev/v1/Sail:',
      '- scene:sailor',
    ]) {
      assert.ok(details.includes(line), `no ${line} in:\n${details}`)
    }
    assert.match(await velero('backup', 'logs', 'scene'), /All items are in the archive/)
  })

  it('is found in the bucket by a Velero server that has never heard of it', async () => {
    assert.equal(await ours?.stop(), 0)
    await backups.delete('scene')
    theirs = await startVeleroServer({
      cluster: given.cluster,
      namespace,
      flags: ['--client-qps=1000', '--client-burst=2000', '--backup-sync-period=2s'],
    })
    const { status } = await backups.until('scene', () => true)
    assert.equal(status?.phase, 'Completed')
  })

  it('comes back in other namespaces without errors', async () => {
    await given.cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(deploymentOfServer) })
    const restores = client.resource(RestoreKind, namespace)
    const namespaceMapping = Object.fromEntries(sceneNamespaces.map(name => [name, copyOf(name)]))
    await restores.create({
      apiVersion: 'velero.io/v1',
      kind: 'Restore',
      metadata: { name: 'scene', namespace },
      spec: { backupName: 'scene', namespaceMapping },
    })
    let last: Restore | undefined
    const restored = await waitUntil(
      async () => {
        last = await restores.get('scene')
        return /Completed|Failed/.test(last.status?.phase ?? '') ? last : undefined
      },
      {
        timeoutMs: 120_000,
        failure: () => new Error(`the restore stayed at ${JSON.stringify(last?.status)}`),
      },
    )
    assert.equal(restored.status?.phase, 'Completed', JSON.stringify(restored.status))
    assert.equal(restored.status?.errors ?? 0, 0)
  })

  for (const name of sceneNamespaces) {
    it(`every object of ${name} is as it was, but for what Velero changes`, async () => {
      const inNamespace = [...stored].filter(
        ([entry]) => !isPreferred(entry) && entry.includes(`/namespaces/${name}/`),
      )
      assert.ok(inNamespace.length > 25, `only ${inNamespace.length} objects`)
      const expected = inNamespace.filter(([entry]) => !notRestored.includes(entry.split('/')[1] ?? ''))
      const differences: string[] = []
      for (const [entry, original] of expected) {
        const restored = remainsAfterRestore(await getLive(entry, copyOf(name)), unmapped => unmapped)
        const remains = remainsAfterRestore(original, copyOf)
        if (isDeepStrictEqual(restored, remains)) continue
        differences.push(`${entry}: ${JSON.stringify(remains)} became ${JSON.stringify(restored)}`)
      }
      assert.deepEqual(differences, [])
    })
  }

  async function getLive(entry: string, at: string): Promise<KubeObject> {
    const resource = entry.split('/')[1] ?? ''
    const name = path.basename(entry, '.json')
    return JSON.parse(await given.cluster.kubectl(['get', resource, name, '-n', at, '-o', 'json']))
  }
})

function isPreferred(entry: string): boolean {
  return /^resources\/[^/]+\/[^/]+-preferredversion\//.test(entry)
}

/** Velero reads the image of its own pods from this one when it restores. */
const deploymentOfServer = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'velero', namespace },
  spec: {
    replicas: 0,
    selector: { matchLabels: { deploy: 'velero' } },
    template: {
      metadata: { labels: { deploy: 'velero' } },
      spec: { containers: [{ name: 'velero', image: 'velero/velero:v1.18.3' }] },
    },
  },
}
