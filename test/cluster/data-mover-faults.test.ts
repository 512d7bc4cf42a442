import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { DataDownloadKind, type DataUpload, DataUploadKind } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilSeen } from '../../tools/cluster/wait-until.ts'
import { type CsiMovesScene, openCsiMovesScene } from './csi-moves-scene.ts'
import { type CsiPod, createCsiPod, csiPod, csiScene } from './csi-scene.ts'
import { createAll, type Sort } from './fs-moves-scene.ts'
import { nodeAgentCommand, sent, signalProcess, whileAgentStands } from './pod-processes.ts'

const given = await givenCluster({ node: true, s3: true, csi: true })
const namespace = 'mover-faults'
const shop = 'mover-faults-shop'

/** What moves data while others wait for their turn. Their movers are stopped before they have done anything. */
const moving = ['done', 'stopped', 'killed'] as const
const prepared = ['p-cancelled', 'p-lost', 'p-kept'] as const
const accepted = ['a-cancelled', 'a-late'] as const

/** Restores that change the claim of the device, and what is then said. */
const changes = {
  small: { path: '/spec/resources/requests/storage', value: '4Mi', says: /too small|large enough/ },
  folder: { path: '/spec/volumeMode', value: 'Filesystem', says: /block/i },
} as const

describe('data movers that something is wrong with', { skip: given.skip, concurrency: false }, async () => {
  const kubectl = (...args: Parameters<typeof given.cluster.kubectl>) => given.cluster.kubectl(...args)
  const targetOf = (restore: string) => `${shop}-${restore}`
  let moves: CsiMovesScene
  let pod: CsiPod

  before(async () => {
    // As many as move data here, and not one more.
    const config = JSON.stringify({ loadConcurrency: { globalConfig: 2 * moving.length } })
    const items = [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'agents', namespace }, data: { config } },
    ]
    await kubectl(['apply', '-f', '-'], { stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }) })
  })
  const scene = await csiScene(given, { namespace, flags: ['--node-agent-configmap=agents'] })
  before(async () => {
    const { cluster } = given
    moves = await openCsiMovesScene({ cluster, namespace, shop, claim: 'data', first: firstUpload })
  })
  after(async () => {
    await moves?.[Symbol.asyncDispose]()
    const places = [...Object.keys(changes), 'whole'].map(targetOf)
    await kubectl(['delete', 'namespace', shop, ...places, '--wait=false', '--ignore-not-found'])
  })

  async function firstUpload(): Promise<DataUpload> {
    const claims = { data: {}, disk: { mode: 'Block', size: '8Mi' } } as const
    pod = await createCsiPod(given.cluster, { namespace: shop, claims })
    await pod.run('echo one > /data/one; mkdir /data/two; echo three > /data/two/three')
    await pod.run('dd if=/dev/urandom of=/dev/disk bs=1M count=8 2>/dev/null; sync')
    const { status } = await scene.backUp('moved', `--include-namespaces=${shop}`, '--snapshot-move-data')
    const first = (await scene.dataUploads('moved')).find(({ spec }) => spec.sourcePVC === 'data')
    assert.ok(first?.status?.snapshotID, JSON.stringify([status, first]))
    return first
  }

  /** Takes away what movers mount: none starts before it is brought back by what is returned. */
  async function takeCredentials(): Promise<() => Promise<string>> {
    const read = ['-n', namespace, 'get', 'secret', 'cloud-credentials', '-o', 'json']
    const { metadata: _, ...secret } = JSON.parse(await kubectl(read))
    await kubectl(['-n', namespace, 'delete', 'secret', 'cloud-credentials'])
    const metadata = { name: 'cloud-credentials', namespace }
    return () => kubectl(['create', '-f', '-'], { stdin: JSON.stringify({ ...secret, metadata }) })
  }

  const stopAgent = () =>
    signalProcess({ cluster: given.cluster, namespace, command: nodeAgentCommand }, 'SIGSTOP')

  /** Brings all of `moving` so far that their movers are to begin, and have stopped before. */
  async function stopMovers(): Promise<void> {
    const bringCredentials = await takeCredentials()
    await createAll(moves, moving, ({ prefix, record }, name) =>
      record.reaches(`${prefix}-${name}`, 'Accepted'),
    )
    const pods = ['b', 'r'].flatMap(prefix => moving.map(name => `pod/${prefix}-${name}`))
    await untilSeen('the pods of all movers', async () =>
      new Set(pods).isSubsetOf(new Set(await scene.moverPods())),
    )
    // Movers wait until they are told to begin, which nobody does while the node agent stands still.
    await whileAgentStands({ cluster: given.cluster, namespace }, async () => {
      await bringCredentials()
      await moves.both(({ signal }) => Promise.all(moving.map(name => signal(name, 'SIGSTOP'))))
    })
    await moves.both(({ prefix, record }) =>
      Promise.all(moving.map(name => record.reaches(`${prefix}-${name}`, 'InProgress'))),
    )
  }

  it('are held in each phase', async () => {
    await stopMovers()
    await createAll(moves, prepared, ({ prefix, record }, name) =>
      record.reaches(`${prefix}-${name}`, 'Prepared'),
    )
    // No more are prepared ahead than can move: there is room for others now.
    await moves.both(async ({ prefix, record, ...sort }) => {
      await sort.cancel('p-cancelled')
      await sort.removePod('p-lost')
      await record.reaches(`${prefix}-p-cancelled`, 'Canceled')
      const lost = await record.reaches(`${prefix}-p-lost`, 'Failed')
      assert.match(lost.status?.message ?? '', /is gone/)
    })
  })

  it('go on from every phase, cancelled or not, when the node agent is killed and comes back', async () => {
    const bringCredentials = await takeCredentials()
    await createAll(moves, accepted, ({ prefix, record }, name) =>
      record.reaches(`${prefix}-${name}`, 'Accepted'),
    )
    await moves.both(endBeforeTheKill)
    await createAll(moves, ['a-kept'], ({ prefix, record }, name) =>
      record.reaches(`${prefix}-${name}`, 'Accepted'),
    )
    const agent = await stopAgent()
    await moves.both(sort => sort.create('n-kept'))
    await bringCredentials()
    assert.ok(sent(agent, 'SIGKILL'))
    await moves.both(endAfterTheKill)
  })

  /** What does not move yet ends at once; what moves is told, and does not hear it yet. */
  async function endBeforeTheKill({ prefix, record, ...sort }: Sort): Promise<void> {
    await sort.create('n-cancelled', { cancel: true })
    for (const name of ['a-cancelled', 'stopped']) await sort.cancel(name)
    await sort.patch('a-late', { status: { acceptedTimestamp: '2020-01-01T00:00:00Z' } })
    for (const name of ['n-cancelled', 'a-cancelled']) await record.reaches(`${prefix}-${name}`, 'Canceled')
    await record.reaches(`${prefix}-stopped`, 'Canceling')
    const late = await record.reaches(`${prefix}-a-late`, 'Failed')
    assert.match(late.status?.message ?? '', /timeout on preparing/)
  }

  async function endAfterTheKill({ prefix, record, signal }: Sort): Promise<void> {
    for (const name of ['done', 'stopped']) await signal(name, 'SIGCONT')
    await signal('killed', 'SIGKILL')
    await record.reaches(`${prefix}-stopped`, 'Canceled')
    await record.reaches(`${prefix}-killed`, 'Failed')
    for (const name of ['done', 'n-kept', 'a-kept', 'p-kept'])
      await record.reaches(`${prefix}-${name}`, 'Completed')
  }

  it('leave nothing in cluster and storage, and volumes to the claims of those that were done', async () => {
    await scene.nothingIsLeft()
    const { items }: { items: Claim[] } = JSON.parse(await kubectl(['-n', shop, 'get', 'pvc', '-o', 'json']))
    const bound = items.filter(({ status }) => status.phase === 'Bound').map(({ metadata }) => metadata.name)
    const done = ['done', 'n-kept', 'a-kept', 'p-kept'].map(name => `r-${name}`)
    assert.deepEqual(new Set(bound), new Set(['data', 'disk', ...done]))
  })

  interface Claim {
    metadata: { name: string }
    status: { phase: string }
  }

  /** Movers that fail, end or are gone while they are cancelled, or are gone without that, do so as those of pod volumes. */
  const ofAllMovers = [
    ...['New > Failed', 'Canceling > Completed', 'Canceling > Failed', 'InProgress > Canceled'],
  ]

  for (const kind of [DataUploadKind, DataDownloadKind]) {
    it(`go along the edges of the diagram of a ${kind.kind}, and along no other`, () => {
      const { edges } = (kind === DataUploadKind ? moves.uploads : moves.downloads).record
      const diagram = (kind.phases?.moves ?? []).map(({ from, to }) => `${from} > ${to}`)
      const expected = new Set(diagram).difference(new Set(ofAllMovers))
      assert.deepEqual(new Set(edges.keys()), expected, JSON.stringify(Object.fromEntries(edges), null, 1))
    })
  }

  async function modifiers(name: keyof typeof changes): Promise<void> {
    const { path, value } = changes[name]
    const rules = [
      {
        conditions: { groupResource: 'persistentvolumeclaims', resourceNameRegex: '^disk$' },
        patches: [{ operation: 'replace', path, value: JSON.stringify(value) }],
      },
    ]
    const config = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace },
      data: { rules: JSON.stringify({ version: 'v1', resourceModifierRules: rules }) },
    }
    await kubectl(['create', '-f', '-'], { stdin: JSON.stringify(config) })
  }

  const restore = (name: string, ...flags: string[]) =>
    scene.restore(name, 'moved', `--namespace-mappings=${shop}:${targetOf(name)}`, ...flags)

  async function failsToRestore(name: keyof typeof changes): Promise<void> {
    await modifiers(name)
    const { status } = await restore(name, `--resource-modifier-configmap=${name}`)
    assert.equal(status?.phase, 'PartiallyFailed', name)
    const downloads = await scene.dataDownloads(name)
    const download = downloads.find(({ spec }) => spec.targetVolume.pvc === 'disk')
    assert.equal(download?.status?.phase, 'Failed', JSON.stringify(download))
    assert.match(download?.status?.message ?? '', changes[name].says)
    const phase = ['-n', targetOf(name), 'get', 'pvc', 'disk', '-o', 'jsonpath={.status.phase}']
    assert.equal(await kubectl(phase), 'Pending')
  }

  it('fail when the target is too small, or a folder where there was a device, and others bring all back', async () => {
    const [{ status }] = await Promise.all([
      restore('whole'),
      ...(Object.keys(changes) as (keyof typeof changes)[]).map(failsToRestore),
    ])
    assert.equal(status?.phase, 'Completed')
    const copy = csiPod(given.cluster, { namespace: targetOf('whole') })
    await copy.ready()
    assert.equal(await copy.checksum('disk'), await pod.checksum('disk'))
    assert.equal(await copy.tree('/data'), await pod.tree('/data'))
    await scene.nothingIsLeft()
  })
})
