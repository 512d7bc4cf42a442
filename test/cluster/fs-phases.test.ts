import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  apiVersionOf,
  finalizerNames,
  type PodVolumeBackup,
  PodVolumeBackupKind,
  PodVolumeRestoreKind,
} from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilSeen, waitUntil } from '../../tools/cluster/wait-until.ts'
import { createAll, type MovesScene, openMovesScene, type Sort } from './fs-moves-scene.ts'
import { createFilesPod, filesPodManifest, fsScene } from './fs-scene.ts'
import type { Phased } from './phase-record.ts'
import {
  moverCommand,
  nodeAgentCommand,
  podProcesses,
  sent,
  serverCommand,
  signalProcess,
} from './pod-processes.ts'

const given = await givenCluster({ node: true, s3: true })
const namespace = 'fs-phases'
const shop = 'fs-phases-shop'
/** A node that no machine stands behind. */
const ghost = 'fs-phases-ghost'

/** What moves data while others wait for their turn. Their movers are stopped before they have done anything. */
const moving = ['done', 'stopped', 'killed', 'failing', 'late', 'gone', 'deleted'] as const
const prepared = ['p-cancelled', 'p-lost', 'p-kept'] as const
const accepted = ['a-cancelled', 'a-late', 'a-kept'] as const
const names = [...moving, ...prepared, ...accepted, 'n-cancelled', 'n-kept', 'n-lost', 'taken']

/** What moves the data of a backup and of a restore; stopped before it has done anything. */
interface BegunBoth {
  readonly backup: string
  readonly restore: string
  readonly pids: readonly number[]
}

describe('the phases of volume data on its way', { skip: given.skip, concurrency: false }, async () => {
  const kubectl = (...args: Parameters<typeof given.cluster.kubectl>) => given.cluster.kubectl(...args)
  let moves: MovesScene

  const apply = (...items: object[]) =>
    kubectl(['apply', '-f', '-'], { stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }) })

  before(async () => {
    // As many as move data here, with those of the server's backup and restore, and not one more.
    const config = JSON.stringify({ loadConcurrency: { globalConfig: 2 * moving.length + 2 } })
    await apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'agents', namespace }, data: { config } },
    )
  })
  const scene = await fsScene(given, { namespace, flags: ['--node-agent-configmap=agents'] })
  before(async () => {
    moves = await openMovesScene(given.cluster, { namespace, volumes: names, first: firstBackup })
  })
  after(async () => {
    await moves?.[Symbol.asyncDispose]()
    await kubectl(['delete', 'node', ghost, '--ignore-not-found'])
    const places = ['orphaned', 'unwanted'].map(placeOf)
    await kubectl(['delete', 'namespace', shop, ...places, '--wait=false', '--ignore-not-found'])
  })

  const placeOf = (restore: string) => `${shop}-${restore}`
  const create = (backup: string) => [
    ...['backup', 'create', backup, `--include-namespaces=${shop}`, '--default-volumes-to-fs-backup'],
  ]

  async function firstBackup(): Promise<PodVolumeBackup> {
    const pod = await createFilesPod(given.cluster, { namespace: shop, volumes: { data: { emptyDir: {} } } })
    await pod.run('echo one > /data/one; mkdir /data/two; echo three > /data/two/three')
    await scene.succeed(...create('first'), '--wait')
    const [first] = await scene.podVolumeBackups('first')
    assert.equal(first?.status?.phase, 'Completed', JSON.stringify(first?.status))
    return first
  }

  it('begin on a node that goes away', async () => {
    // No agent of anybody runs there.
    const taints = [{ key: 'fs-phases', effect: 'NoSchedule' }]
    await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: ghost }, spec: { taints } })
    const { spec } = await moves.backups.create('n-lost', { spec: { node: ghost } })
    // As the node agent there wrote before the machine was switched off.
    await moves.client.resource(PodVolumeBackupKind, namespace).create({
      apiVersion: apiVersionOf(PodVolumeBackupKind),
      kind: PodVolumeBackupKind.kind,
      metadata: { name: 'b-switched-off', namespace, finalizers: [finalizerNames.podVolume] },
      spec,
      status: { phase: 'InProgress', startTimestamp: '2024-01-01T00:00:00Z' },
    })
    const pod = { kind: 'Pod', namespace: shop, name: 'nobody', uid: 'b0b' }
    await moves.restores.create('n-lost', { spec: { pod } })
    await kubectl(['delete', 'node', ghost])
  })

  /** Of a backup and a restore whose server is killed. */
  let orphaned: BegunBoth

  it('are held where the next one has to wait', async () => {
    const beginning = beginBoth('orphaned')
    await createAll(moves, moving, async ({ prefix, record, signal }, name) => {
      await signal(name, 'SIGSTOP')
      await record.reaches(`${prefix}-${name}`, 'InProgress')
    })
    orphaned = await beginning
    await createAll(moves, prepared, ({ prefix, record }, name) =>
      record.reaches(`${prefix}-${name}`, 'Prepared'),
    )
    await moves.both(async ({ prefix, record }) => {
      for (const name of prepared) assert.equal(record.get(`${prefix}-${name}`)?.status?.phase, 'Prepared')
    })
  })

  it('go on from every one of them, cancelled or not, when the node agent is killed and comes back', async () => {
    await signalProcess({ cluster: given.cluster, namespace, command: serverCommand }, 'SIGKILL')
    const secret = JSON.parse(
      await kubectl(['-n', namespace, 'get', 'secret', 'cloud-credentials', '-o', 'json']),
    )
    // Movers mount the credentials, and do not start without them.
    await kubectl(['-n', namespace, 'delete', 'secret', 'cloud-credentials'])
    await createAll(moves, accepted, ({ prefix, record }, name) =>
      record.reaches(`${prefix}-${name}`, 'Accepted'),
    )
    await moves.both(endBeforeTheKill)
    const agent = await signalProcess(
      { cluster: given.cluster, namespace, command: nodeAgentCommand },
      'SIGSTOP',
    )
    await moves.both(changeUnseen)
    await kubectl(['create', '-f', '-'], {
      stdin: JSON.stringify({ ...secret, metadata: { name: secret.metadata.name, namespace } }),
    })
    const open = phasesNow().difference(new Set(['Completed', 'Failed', 'Canceled']))
    assert.deepEqual(open, new Set(['New', 'Accepted', 'Prepared', 'InProgress', 'Canceling']))
    assert.ok(sent(agent, 'SIGKILL'))
    await moves.both(endAfterTheKill)
  })

  function phasesNow(): Set<string> {
    const { backups, restores } = moves
    const all = names.flatMap(name => [backups.record.get(`b-${name}`), restores.record.get(`r-${name}`)])
    return new Set(all.filter(object => object !== undefined).map(({ status }) => status?.phase || 'New'))
  }

  /** What does not move yet ends at once; what moves is told, and does not hear it yet. */
  async function endBeforeTheKill({ prefix, record, ...sort }: Sort): Promise<void> {
    await sort.create('n-cancelled', { cancel: true })
    for (const name of ['a-cancelled', 'p-cancelled', 'stopped', 'failing']) await sort.cancel(name)
    for (const name of ['n-cancelled', 'a-cancelled', 'p-cancelled'])
      await record.reaches(`${prefix}-${name}`, 'Canceled')
    for (const name of ['stopped', 'failing']) await record.reaches(`${prefix}-${name}`, 'Canceling')
    await sort.patch('a-late', { status: { acceptedTimestamp: '2020-01-01T00:00:00Z' } })
    const late = await record.reaches(`${prefix}-a-late`, 'Failed')
    assert.match(late.status?.message ?? '', /timeout on preparing/)
    await sort.removePod('p-lost')
    const lost = await record.reaches(`${prefix}-p-lost`, 'Failed')
    assert.match(lost.status?.message ?? '', /is gone/)
  }

  /** What happens while no node agent looks. */
  async function changeUnseen({ prefix, record, ...sort }: Sort): Promise<void> {
    await sort.create('n-kept')
    await record.reaches(`${prefix}-n-kept`, 'New')
    await sort.removePod('gone')
    await sort.cancel('gone')
    await sort.signal('late', 'SIGCONT')
    await waitUntil(async () => (await sort.podPhase('late')) === 'Succeeded', {
      timeoutMs: 120_000,
      failure: () => new Error(`the mover ${prefix}-late does not end`),
    })
    // As a node agent writes that dies just then.
    await sort.patch('late', { spec: { cancel: true }, status: { phase: 'Canceling' } })
  }

  async function endAfterTheKill({ prefix, record, signal }: Sort): Promise<void> {
    await record.reaches(`${prefix}-gone`, 'Canceled')
    await record.reaches(`${prefix}-late`, 'Completed')
    for (const name of ['done', 'stopped']) await signal(name, 'SIGCONT')
    for (const name of ['failing', 'killed']) await signal(name, 'SIGKILL')
    await record.reaches(`${prefix}-stopped`, 'Canceled')
    for (const name of ['failing', 'killed']) await record.reaches(`${prefix}-${name}`, 'Failed')
    for (const name of ['done', 'n-kept', 'a-kept', 'p-kept'])
      await record.reaches(`${prefix}-${name}`, 'Completed')
  }

  it('do not concern pods that nobody made for them, whatever these are called', async () => {
    const label = { b: 'velero.io/pod-volume-backup', r: 'velero.io/pod-volume-restore' }
    await moves.both(async ({ prefix, record, ...sort }) => {
      const name = `${prefix}-taken`
      const pod = filesPodManifest({ namespace, name, volumes: {} })
      await apply({ ...pod, metadata: { ...pod.metadata, labels: { [label[prefix]]: name } } })
      await sort.create('taken')
      const failed = await record.reaches(name, 'Failed')
      assert.match(failed.status?.message ?? '', /which is no mover/)
      await record.until(name, 'no finalizer', ({ metadata }) => !metadata.finalizers?.length)
      assert.match(await sort.podPhase('taken'), /Pending|Running/)
    })
  })

  it('end when somebody deletes the object, which goes when the mover has stopped', async () => {
    await moves.both(async ({ prefix, record, ...sort }) => {
      const name = `${prefix}-deleted`
      await sort.delete('deleted')
      await record.reaches(name, 'Canceling')
      await sort.signal('deleted', 'SIGCONT')
      await record.until(name, 'that it is gone', (_, isGone) => isGone)
      assert.equal(record.get(name)?.status?.phase, 'Canceled')
    })
  })

  /** Begins a backup and a restore, and stops their movers. */
  async function beginBoth(name: string): Promise<BegunBoth> {
    const stopped = async (list: () => Promise<Phased[]>) => {
      const object = await movedFor(list)
      const which = { cluster: given.cluster, namespace, command: moverCommand(object) }
      return { object, pid: await signalProcess(which, 'SIGSTOP') }
    }
    await scene.succeed(...create(name))
    // A mover is soon done: it is stopped while the other one is still to come.
    const backingUp = stopped(() => scene.podVolumeBackups(name))
    backingUp.catch(() => {})
    await scene.succeed(
      ...['restore', 'create', name, '--from-backup=first', `--namespace-mappings=${shop}:${placeOf(name)}`],
    )
    const [backup, restore] = await Promise.all([backingUp, stopped(() => scene.podVolumeRestores(name))])
    await moves.backups.record.reaches(backup.object, 'InProgress')
    await moves.restores.record.reaches(restore.object, 'InProgress')
    return { backup: backup.object, restore: restore.object, pids: [backup.pid, restore.pid] }
  }

  function movedFor(list: () => Promise<Phased[]>): Promise<string> {
    return waitUntil(async () => (await list())[0]?.metadata.name, {
      timeoutMs: 120_000,
      failure: () => new Error('nothing moves'),
    })
  }

  function endedPhases(name: string): Promise<string[]> {
    const ended = (kind: 'backup' | 'restore') =>
      waitUntil(
        async () => {
          const { phase = '' } = JSON.parse(await scene.succeed(kind, 'get', name, '-o', 'json')).status ?? {}
          return /Completed|Failed/.test(phase) && (phase as string)
        },
        { timeoutMs: 120_000, failure: () => new Error(`the ${kind} ${name} does not end`) },
      )
    return Promise.all([ended('backup'), ended('restore')])
  }

  it('end with Canceled when the server is killed, which fails its backups and restores when it comes back', async () => {
    const { backup, restore, pids } = orphaned
    assert.deepEqual(await endedPhases('orphaned'), ['Failed', 'Failed'])
    for (const pid of pids) sent(pid, 'SIGCONT')
    await moves.backups.record.reaches(backup, 'Canceled')
    await moves.restores.record.reaches(restore, 'Canceled')
  })

  it('end with Canceled when backup and restore are cancelled', async () => {
    const { backup, restore, pids } = await beginBoth('unwanted')
    await scene.succeed('backup', 'cancel', 'unwanted', '--confirm')
    await scene.succeed('restore', 'cancel', 'unwanted', '--confirm')
    await moves.backups.record.reaches(backup, 'Canceling')
    await moves.restores.record.reaches(restore, 'Canceling')
    for (const pid of pids) sent(pid, 'SIGCONT')
    await moves.backups.record.reaches(backup, 'Canceled')
    await moves.restores.record.reaches(restore, 'Canceled')
    assert.deepEqual(await endedPhases('unwanted'), ['Failed', 'Failed'])
  })

  it('end with Failed when the node is gone, or the pod before anybody took it up', async () => {
    const { backups, restores } = moves
    const [fresh, begun, pod] = await Promise.all([
      backups.record.reaches('b-n-lost', 'Failed'),
      backups.record.reaches('b-switched-off', 'Failed'),
      restores.record.reaches('r-n-lost', 'Failed'),
    ])
    for (const { status } of [fresh, begun]) assert.equal(status?.message, `the node ${ghost} is gone`)
    assert.equal(pod.status?.message, `the pod ${shop}/nobody is gone`)
    await backups.record.until(
      'b-switched-off',
      'no finalizer',
      ({ metadata }) => !metadata.finalizers?.length,
    )
  })

  it('leave neither movers nor finalizers', async () => {
    await scene.settled()
    const running = await podProcesses({ cluster: given.cluster, namespace, command: moverCommand() })
    assert.deepEqual(running, [])
    // The finalizer goes when the node agent has seen that the pod is gone.
    await untilSeen('that no finalizer is left', async () => {
      const objects = [...(await scene.podVolumeBackups()), ...(await scene.podVolumeRestores())]
      return objects.every(({ metadata }) => !metadata.finalizers?.length)
    })
  })

  // Data in restic's format needs no pod to be prepared.
  const ofRestic = new Set(['New > InProgress'])
  for (const kind of [PodVolumeBackupKind, PodVolumeRestoreKind]) {
    it(`are gone through by a ${kind.kind} along every edge of its diagram, and along no other`, () => {
      const { edges } = (kind === PodVolumeBackupKind ? moves.backups : moves.restores).record
      const diagram = (kind.phases?.moves ?? []).map(({ from, to }) => `${from} > ${to}`)
      const seen = JSON.stringify(Object.fromEntries(edges), null, 1)
      assert.deepEqual(new Set(edges.keys()), new Set(diagram).difference(ofRestic), seen)
    })
  }
})
