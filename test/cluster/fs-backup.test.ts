import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { CanaryWatch } from '../security/canaries.ts'
import { createFilesPod, type FilesPod, fsScene } from './fs-scene.ts'
import { killPod, whileAgentStands } from './pod-processes.ts'

const given = await givenCluster({ node: true, s3: true })
const shop = 'fs-backup-shop'

/** Fills two volumes with files of all sorts. */
const fill = [
  'mkdir -p /data/deep/er /data/odd',
  'echo one > /data/one; echo two > /data/deep/er/two; ln -s ../one /data/deep/link; ln /data/one /data/hard',
  'chmod 640 /data/one; chown 1000:2000 /data/deep; touch "/data/odd/ein Name mit Umläuten ü" /data/odd/-dash',
  'dd if=/dev/urandom of=/data/random bs=1M count=8 2>/dev/null',
  'dd if=/dev/zero of=/data/hole bs=1 count=1 seek=10485760 2>/dev/null',
  'echo cached > /cache/file',
].join('; ')

/** What is looked at of a pod. */
interface RestoredPod {
  metadata: { uid: string }
  spec: {
    volumes: { name: string }[]
    initContainers: { name: string; args: string[] }[]
  }
  status: {
    initContainerStatuses?: { containerID?: string; state: { terminated?: { exitCode: number } } }[]
  }
}

describe('the files in the volumes of a pod', { skip: given.skip, concurrency: false }, async () => {
  const scene = await fsScene(given, { namespace: 'fs-backup' })
  let pod: FilesPod

  before(async () => {
    const volumes = { data: { emptyDir: {} }, cache: { emptyDir: {} }, empty: { emptyDir: {} } }
    pod = await createFilesPod(given.cluster, { namespace: shop, volumes })
    await pod.run(fill)
  })

  after(() => given.cluster.kubectl(['delete', 'namespace', shop, '--wait=false', '--ignore-not-found']))

  const create = (name: string) => [
    ...['backup', 'create', name, `--include-namespaces=${shop}`, '--default-volumes-to-fs-backup'],
  ]

  /** Waits until a node agent has taken up a volume of the backup. */
  async function takenUp(backup: string): Promise<void> {
    await waitUntil(
      async () =>
        (await scene.podVolumeBackups(backup)).some(({ status }) =>
          /Accepted|Prepared|InProgress|Completed|Failed|Canceled/.test(status?.phase ?? ''),
        ),
      { timeoutMs: 60_000, failure: () => new Error('nobody takes a PodVolumeBackup up') },
    )
  }

  it('are backed up from the live pod', async () => {
    await scene.succeed(...create('files'), '--wait')
    const described = await scene.succeed('backup', 'describe', 'files', '--details')
    assert.match(described, /Phase:\s+Completed/, described)
    const items = await scene.podVolumeBackups()
    const phases = Object.fromEntries(items.map(({ spec, status }) => [spec.volume, status?.phase]))
    assert.deepEqual(phases, { data: 'Completed', cache: 'Completed', empty: 'Completed' })
    const empty = items.find(({ spec }) => spec.volume === 'empty')
    assert.equal(empty?.status?.message, 'volume was empty so no snapshot was taken')
    // Its pod outlives a PodVolumeBackup for a moment.
    await scene.settled()
  })

  it('are there again before the pod starts', async () => {
    await restoredAfter('files', () => given.cluster.kubectl(['delete', 'namespace', shop, '--timeout=120s']))
  })

  it('are there again when the PodVolumeBackups of the backup are gone from the cluster', async () => {
    await restoredAfter('files-again', async () => {
      const { kubectl } = given.cluster
      await kubectl(['delete', 'namespace', shop, '--timeout=120s'])
      await kubectl(['-n', scene.namespace, 'delete', 'podvolumebackups', '--all', '--timeout=120s'])
    })
  })

  it('are there when the restored pod starts anew with its node, which does not wait for them for ever', async () => {
    const before = await pod.tree('/data')
    const { metadata, waiting } = await restoredPod()
    await killPod(given, metadata.uid)
    let last = waiting
    await waitUntil(
      async () => {
        last = (await restoredPod()).waiting
        return last?.containerID !== waiting?.containerID && last?.state.terminated?.exitCode === 0
      },
      { timeoutMs: 180_000, failure: () => new Error(`it has not waited again: ${JSON.stringify(last)}`) },
    )
    await pod.ready()
    const log = await given.cluster.kubectl(['-n', shop, 'logs', 'writer', '-c', 'restore-wait'])
    assert.equal(log, 'All volumes were restored before this container ran again\n')
    assert.equal(await pod.tree('/data'), before)
  })

  it('are backed up from a restored pod and restored again, without what its first restore has added', async () => {
    const before = (await restoredPod()).spec
    await scene.succeed(...create('again'), '--wait')
    const taken = (await scene.podVolumeBackups('again')).map(({ spec }) => spec.volume)
    assert.deepEqual(new Set(taken), new Set(['data', 'cache', 'empty']))
    await restoredAfter(
      'again',
      () => given.cluster.kubectl(['delete', 'namespace', shop, '--timeout=120s']),
      'again',
    )
    const { spec } = await restoredPod()
    const names = (of: readonly { name: string }[]) => of.map(({ name }) => name)
    assert.deepEqual(names(spec.volumes), ['data', 'cache', 'empty', 'restore-wait-state'])
    assert.deepEqual(names(spec.initContainers), ['restore-wait'])
    assert.notDeepEqual(spec.initContainers[0]?.args, before.initContainers[0]?.args)
  })

  /** As it is now, with how its container stands that waits for volumes. */
  async function restoredPod() {
    const read: RestoredPod = JSON.parse(
      await given.cluster.kubectl(['-n', shop, 'get', 'pod', 'writer', '-o', 'json']),
    )
    return { ...read, waiting: read.status.initContainerStatuses?.[0] }
  }

  async function restoredAfter(
    name: string,
    disaster: () => Promise<unknown>,
    backup = 'files',
  ): Promise<void> {
    const before = await pod.tree('/data')
    await disaster()
    await scene.succeed('restore', 'create', name, `--from-backup=${backup}`, '--wait')
    const described = await scene.succeed('restore', 'describe', name, '--details')
    assert.match(described, /Phase:\s+Completed/, described)
    await pod.ready()
    assert.equal(await pod.tree('/data'), before)
    assert.equal(await pod.run('cat /cache/file'), 'cached\n')
  }

  it('are in snapshots that kopia lists and verifies', async t => {
    const repository = await scene.kopia(t, shop)
    const snapshots = await repository.json<{ source: { path: string } }[]>(['snapshot', 'list', '--all'])
    const volumes = ['data', 'cache'].map(name => `snapshot-pod-volume/kopia/${shop}/writer/${name}`)
    assert.deepEqual(new Set(snapshots.map(({ source }) => source.path)), new Set(volumes))
    await repository.verify()
  })

  it('are backed up although the node agent is killed in the middle', async () => {
    await pod.run('dd if=/dev/urandom of=/data/more bs=1M count=64 2>/dev/null')
    const backup = scene.lateen(...create('killed'), '--wait')
    await takenUp('killed')
    const agent = ['-n', scene.namespace, 'delete', 'pod', '-l', 'name=node-agent', '--grace-period=0']
    await given.cluster.kubectl([...agent, '--force'])
    const { status, stdout } = await backup
    assert.equal(status, 0, stdout)
  })

  it('are stopped being backed up when the backup is cancelled', async () => {
    await pod.run('dd if=/dev/urandom of=/data/more bs=1M count=128 2>/dev/null')
    await scene.succeed(...create('cancelled'))
    await takenUp('cancelled')
    await whileAgentStands({ cluster: given.cluster, namespace: scene.namespace }, () =>
      scene.succeed('backup', 'cancel', 'cancelled', '--confirm'),
    )
    await scene.settled()
  })

  it('are moved without a word about the keys to where they are stored', async () => {
    const { kubectl, s3 } = given.cluster
    const watch = new CanaryWatch(new Map([['the secret key of the object store', s3.secretAccessKey]]))
    const of = ['-n', scene.namespace]
    for (const selector of ['name=node-agent', 'component=velero']) {
      const log = await kubectl([...of, 'logs', '-l', selector, '--tail=-1'])
      assert.match(log, /fs-backup/)
      watch.look(`the log of ${selector}`, log)
    }
    const kinds = 'pods,events,podvolumebackups,podvolumerestores,backuprepositories,jobs,configmaps'
    const objects = await kubectl([...of, 'get', kinds, '-o', 'yaml', '--show-managed-fields'])
    assert.match(objects, /reason: Data-Path-Completed/)
    watch.look('objects', objects)
    assert.deepEqual(watch.leaks, [])
  })

  it('are forgotten with their backups', async t => {
    for (const name of ['files', 'again', 'killed', 'cancelled']) {
      await scene.succeed('backup', 'delete', name, '--confirm', '--wait')
    }
    const repository = await scene.kopia(t, shop)
    assert.deepEqual(await repository.json(['snapshot', 'list', '--all']), [])
  })
})
