import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { type BackupSpec, type Restore, RestoreKind, type RestoreSpec } from '@lateen/api'
import type { KubeObject, Unstructured } from '@lateen/kube'
import type { ServerOptions } from '@lateen/server'
import { apiGroups } from '../../packages/cli/src/install/api-groups.ts'
import type { Rights } from '../../packages/cli/src/install/cluster-role.ts'
import { canBackUp } from '../../packages/server/src/filters/resource-names.ts'
import { nonRestorableResources } from '../../packages/server/src/restore/prepare/non-restorable.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { rotatingSeeds } from '../../tools/test/seeds.ts'
import { clusterContents } from '../compat/cluster-contents.ts'
import { openServerScene, type ServerScene } from './backup-server-scene.ts'
import { Deletions } from './deletions.ts'
import {
  createContents,
  createPod,
  customGroup,
  hasLabel,
  kindsOfContents,
  removeContents,
  takeCommonRights,
  userWith,
} from './least-privilege-scene.ts'
import { Schedules } from './schedules.ts'
import type { RunningServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true, own: true })

const grants = ['backup', 'hooks', 'restore', 'restore-roles', 'recreate'] as const

/** Whose server it is; without rights it is the administrator's. */
interface Identity {
  readonly name: string
  readonly title: string
  readonly rights?: Rights
}

const admin: Identity = { name: 'admin', title: 'everything' }
const roles: Identity[] = [
  { name: 'named', title: 'names API groups', rights: { grants, apiGroups: [customGroup] } },
  { name: 'wild', title: 'names no API groups', rights: { grants, apiGroups: ['*'] } },
]

/** An ordinary run tries one of them. */
const seeds = rotatingSeeds({ name: 'role', count: 1, soakCount: 2, consecutive: true })
const tried = new Set(seeds.map(seed => roles[seed % roles.length]!))

describe('A server whose role allows no more than what it does', { skip: given.skip }, () => {
  let scene: ServerScene
  const taken = new Map<Identity, Taken>()
  let model: Restored

  before(async () => {
    scene = await openServerScene(given.cluster, 'rights')
    await takeCommonRights(given.cluster)
    await createContents(given.cluster, scene.data)
    for (const identity of [admin, ...tried]) taken.set(identity, await backUp(scene, identity))
    model = await restore(scene, admin)
  })
  after(() => scene[Symbol.asyncDispose]())

  it('is compared with one that may do everything, which does something', () => {
    const kinds = kindsOfContents(scene.data)
    const { archive, hookErrors } = taken.get(admin)!
    assert.deepEqual(missingOf(kinds, archive.values()), [])
    for (const stage of model.stages.values()) {
      assert.deepEqual(missingOf(kinds, stage.values()), [])
    }
    assert.deepEqual(model.stages.get('created')?.get(`sails.${customGroup} ${scene.data}/lateen`)?.status, {
      wind: 7,
    })
    assert.match(hookErrors.join(), /main/)
    assert.doesNotMatch(hookErrors.join(), /forbidden/)
    assert.deepEqual(model.ends, { created: 'Completed', updated: 'Completed', recreated: 'Completed' })
  })

  it('is given every type that Kubernetes itself can have in a backup, when its role names API groups', async () => {
    const groups: readonly string[] = [...apiGroups.builtIn, customGroup]
    const core: readonly string[] = apiGroups.core
    const types = (await scene.client.discovery.preferred()).filter(canBackUp)
    assert.ok(types.length > 50)
    const forgotten = types.filter(
      ({ group, plural }) => !(group === '' ? core.includes(plural) : groups.includes(group)),
    )
    assert.deepEqual(
      forgotten.map(({ group, plural }) => `${plural}.${group}`),
      [],
    )
    const restored = core.filter(plural => !nonRestorableResources.includes(plural))
    assert.deepEqual(restored, apiGroups.coreRestored)
  })

  it('needs no more than to read for schedules, backups and their deletion', async () => {
    const rights = { grants: ['backup'], apiGroups: [customGroup] } as const
    await using server = await start(scene, { name: 'reader', title: '', rights }, { leaderElection: true })
    const schedules = new Schedules(scene.client, scene.namespace)
    await schedules.create('due', { schedule: '@every 1s', template: selected(scene) })
    const [made] = await schedules.made('due', 1)
    await schedules.delete('due')
    const name = made?.metadata.name ?? ''
    assert.equal((await scene.backups.ended(name)).status?.phase, 'Completed')
    const archive = await scene.bucket.unpack(name)
    assert.deepEqual(missingOf(kindsOfContents(scene.data), archive.values()), [])
    const deletions = new Deletions(scene)
    await deletions.request(name)
    await deletions.done(name)
    await server.stop()
    assert.deepEqual(refusalsTo(server), [])
  })

  for (const identity of tried) {
    it(`backs up what cluster-admin does, when its role ${identity.title}`, () => {
      assert.deepEqual(taken.get(identity)?.refusals, [])
      assert.deepEqual(taken.get(identity), taken.get(admin))
    })

    it(`restores what cluster-admin does, when its role ${identity.title}`, async () => {
      const restored = await restore(scene, identity)
      assert.deepEqual(restored.refusals, [])
      assert.deepEqual(restored.ends, model.ends)
      assert.deepEqual(restored.stages, model.stages)
    })
  }
})

/** The kinds that none of the objects is of. */
function missingOf(kinds: readonly string[], objects: Iterable<KubeObject>): unknown[] {
  const there = new Set(Array.from(objects, ({ kind }) => kind))
  return kinds.filter(kind => !there.has(kind))
}

interface Taken {
  readonly phase: string | undefined
  readonly archive: ReadonlyMap<string, KubeObject>
  readonly hookErrors: readonly string[]
  readonly refusals: readonly string[]
}

async function start(
  scene: ServerScene,
  { name, rights }: Identity,
  options: Partial<ServerOptions> = {},
): Promise<RunningServer> {
  if (rights === undefined) return scene.start(options)
  const { namespace, cluster } = scene
  const { kubeconfig } = await userWith(cluster, { namespace, user: `rights-${name}`, rights })
  return scene.start({ ...options, kubeconfig })
}

async function backUp(scene: ServerScene, identity: Identity): Promise<Taken> {
  const { backups, bucket, cluster, data } = scene
  await using server = await start(scene, identity)
  const everything = await backups.take(identity.name, selected(scene))
  const pod = { namespace: data, name: 'hooked' }
  await createPod(cluster, { ...pod, annotations: { 'pre.hook.backup.velero.io/command': '["/bin/true"]' } })
  await backups.take(`${identity.name}-hooks`, { includedNamespaces: [data], includedResources: ['pods'] })
  await cluster.kubectl(['delete', 'pod', pod.name, '-n', data, '--force', '--grace-period=0'])
  const results = (await bucket.readJson(`${identity.name}-hooks`, '-results.gz')) as HookResults
  await server.stop()
  return {
    phase: everything.status?.phase,
    archive: await bucket.unpack(identity.name),
    hookErrors: results.errors.namespaces?.[data] ?? [],
    refusals: refusalsTo(server),
  }
}

/** All of the contents, in the namespace and beyond. */
function selected({ data }: ServerScene): BackupSpec {
  return {
    includedNamespaces: [data],
    includedClusterScopedResources: [
      ...['clusterroles', 'clusterrolebindings', 'customresourcedefinitions', 'persistentvolumes'],
    ],
    labelSelector: { matchLabels: { part: 'rights' } },
  }
}

interface HookResults {
  errors: { namespaces?: Record<string, string[]> }
}

interface Restored {
  readonly ends: Record<string, string | undefined>
  /** What is in the cluster after each restore. */
  readonly stages: ReadonlyMap<string, ReadonlyMap<string, Unstructured>>
  readonly refusals: readonly string[]
}

async function restore(scene: ServerScene, identity: Identity): Promise<Restored> {
  const { cluster, data } = scene
  await removeContents(cluster, data)
  await using server = await start(scene, identity)
  const ends: Record<string, string | undefined> = {}
  const stages = new Map<string, ReadonlyMap<string, Unstructured>>()
  const run = async (stage: string, spec: RestoreSpec, annotations: Record<string, string> = {}) => {
    const name = `${stage}-${identity.name}`
    await createRestore(scene, { name, annotations, spec: { backupName: identity.name, ...spec } })
    ends[stage] = summary(await scene.restores.ended(name))
    stages.set(stage, await contentsAtRest(scene))
  }
  await run('created', { restoreStatus: { includedResources: ['*'] } })
  const patch = JSON.stringify({ data: { text: null, more: 'eA==' } })
  for (const kind of ['configmap', 'secret']) {
    await cluster.kubectl(['patch', kind, 'plain', '-n', data, '--type=merge', '-p', patch])
  }
  await cluster.kubectl(['patch', 'sail', 'lateen', '-n', data, '--type=merge', '-p', '{"spec":{"area":1}}'])
  await run('updated', { existingResourcePolicy: 'update' })
  const fixed = JSON.stringify({ immutable: true, data: { text: 'fixed' } })
  await cluster.kubectl(['patch', 'configmap', 'plain', '-n', data, '--type=merge', '-p', fixed])
  await run('recreated', {}, { 'lateen.dev/existing-resource-policy': 'recreate' })
  await server.stop()
  return { ends, stages, refusals: refusalsTo(server) }
}

/** What the API server did not let a server do. */
function refusalsTo({ log }: RunningServer): string[] {
  return log.map(event => JSON.stringify(event)).filter(text => /forbidden/i.test(text))
}

async function createRestore(
  { client, namespace }: ServerScene,
  { name, annotations, spec }: { name: string; annotations: Record<string, string>; spec: RestoreSpec },
): Promise<void> {
  const metadata = { name, namespace, annotations }
  await client
    .resource(RestoreKind, namespace)
    .create({ apiVersion: 'velero.io/v1', kind: 'Restore', metadata, spec })
}

/** The phase, and what was told. */
function summary({ status }: Restore): string {
  const { phase, errors = 0, warnings = 0 } = status ?? {}
  return errors + warnings === 0 ? `${phase}` : `${phase} with ${errors} errors and ${warnings} warnings`
}

/** Without the marks that say which backup and restore it was. */
/** What is in the cluster once its controllers have written to what was restored. */
async function contentsAtRest(scene: ServerScene): Promise<ReadonlyMap<string, Unstructured>> {
  await scene.cluster.kubectl([
    ...['wait', '-n', scene.data, 'pvc/disk', '--timeout=120s'],
    '--for=jsonpath={.metadata.annotations.pv\\.kubernetes\\.io/bind-completed}=yes',
  ])
  let last: unknown
  return waitUntil(
    async () => {
      const now = await contentsOf(scene)
      const isSame = isDeepStrictEqual(now, last)
      last = now
      return isSame && now
    },
    { timeoutMs: 120_000, everyMs: 1_000, failure: () => new Error('the cluster does not come to rest') },
  )
}

async function contentsOf({ client, namespace }: ServerScene): Promise<ReadonlyMap<string, Unstructured>> {
  const all = await clusterContents(client, { without: [namespace] })
  const ours = [...all].filter(([, object]) => hasLabel(object))
  for (const [, { metadata }] of ours) {
    for (const mark of ['velero.io/backup-name', 'velero.io/restore-name']) delete metadata.labels?.[mark]
  }
  return new Map(ours)
}
