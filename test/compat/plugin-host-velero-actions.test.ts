import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import type { Backup } from '@lateen/api'
import { createKubeClient, type KubeClient, loadKubeConfig, silentLogger } from '@lateen/kube'
import {
  type ActionItem,
  type BackupItemAction,
  type ItemBlockAction,
  parseItem,
  type Registered,
  type ResourceIdentifier,
  type RestoreItemAction,
  serializeItem,
} from '@lateen/plugin'
import {
  backupItemActionConformance,
  itemBlockActionConformance,
  restoreItemActionConformance,
} from '@lateen/plugin/action-conformance'
import { builtInPlugins } from '../../packages/server/src/entry/built-in-plugins.ts'
import { createPluginRegistry } from '../../packages/server/src/plugin-host/plugin-registry.ts'
import type { PluginSession, PluginSessions } from '../../packages/server/src/plugin-host/plugin-session.ts'
import { tool } from '../../tools/binaries/tool.ts'
import { ensureNamespace } from '../../tools/cluster/ensure-namespace.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { installKinds } from '../cluster/storage-location-harness.ts'
import { veleroMissing } from './backup-pair.ts'
import { makePluginFolder } from './plugin-folder.ts'
import { openPluginHost, type PluginHost } from './plugin-host-scene.ts'
import {
  actionObjects,
  claimWithoutCsi,
  objectsInCluster,
  restoreOf,
  type SharedKind,
} from './velero-action-objects.ts'
import { withoutEmpty } from './without-empty.ts'

// Before the cluster is asked for, which ends after the test as well.
const scene = new AsyncDisposableStack()
after(() => scene.disposeAsync())
const missing = await veleroMissing()
const given = await givenCluster()
const skip = missing || given.skip

const places = { shop: `actions-shop-${process.pid}`, namespace: `actions-server-${process.pid}` }
const objects = actionObjects(places)
const restore = restoreOf(places)
const backup: Backup = {
  apiVersion: 'velero.io/v1',
  kind: 'Backup',
  metadata: { name: 'b', namespace: places.namespace },
  spec: {},
}

const client = skip ? undefined : await prepare()
const ours = client && createPluginRegistry({ builtIns })
const theirs = skip ? undefined : await veleroUnderOurHost()

async function prepare(): Promise<KubeClient> {
  const { cluster } = given
  await installKinds(cluster)
  for (const name of Object.values(places)) {
    await ensureNamespace(cluster, name)
    scene.defer(async () => void (await cluster.kubectl(['delete', 'namespace', name, '--wait=false'])))
  }
  const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objectsInCluster(places) })
  await cluster.kubectl(['apply', '-f', '-'], { stdin })
  const config = await loadKubeConfig({ path: cluster.kubeconfigPath })
  return scene.use(await createKubeClient({ config }))
}

function builtIns() {
  assert.ok(client)
  return builtInPlugins({ client, options: { namespace: places.namespace, features: [] } })
}

async function veleroUnderOurHost(): Promise<PluginHost> {
  const folder = scene.use(await makePluginFolder())
  const env = { KUBECONFIG: given.cluster.kubeconfigPath }
  await folder.launcher('velero', { command: [await tool('velero'), 'run-plugins'], env })
  // One that needs longer to end than a server would wait is no warning here.
  const limits = { shutdownMs: 30_000 }
  const options = { namespace: places.namespace, features: ['EnableCSI'], prefer: true, limits }
  return scene.use(await openPluginHost({ folder: folder.path, builtIns, ...options }))
}

type Action = BackupItemAction | ItemBlockAction | RestoreItemAction

const actionsOf: Record<SharedKind, (session: PluginSession) => readonly Registered<Action>[]> = {
  BackupItemAction: session => session.backupItemActions(),
  ItemBlockAction: session => session.itemBlockActions(),
  RestoreItemAction: session => session.restoreItemActions(),
}

function actionOf(session: PluginSession, kind: SharedKind, name: string): Action {
  const all = actionsOf[kind](session).filter(each => each.name === name)
  assert.equal(all.length, 1, `${kind} ${name}`)
  return (all[0] as Registered<Action>).action
}

/**
 * What these actions store or restore has fields that hold nothing, and a status of zeroes: they read the object into a Go type and
 * write it from there. Everything else is the same, value for value.
 */
const throughGoTypes = new Set([
  'BackupItemAction velero.io/pv',
  ...[
    ...['change-storage-class', 'cluster-role-bindings', 'crd-preserve-fields', 'init-restore-hook', 'job'],
    ...['pod', 'pvc', 'role-bindings', 'secret', 'service', 'service-account'],
  ].map(name => `RestoreItemAction velero.io/${name}`),
])

describe("Velero's own actions, driven by our host, beside ours", { skip }, () => {
  const sessions = new AsyncDisposableStack()
  after(() => sessions.disposeAsync())
  const open = (registry: PluginSessions | undefined): PluginSession => {
    assert.ok(registry)
    return sessions.use(registry.open({ log: silentLogger }))
  }
  const mine = ours && open(ours)
  const velero = theirs && open(theirs.registry)
  const both = (kind: SharedKind, name: string) => {
    assert.ok(mine && velero)
    return [actionOf(mine, kind, name), actionOf(velero, kind, name)] as const
  }

  it('take the places of ours under their names, and leave nothing in doubt', () => {
    const plugins = theirs?.registry.plugins ?? []
    for (const kind of Object.keys(objects) as SharedKind[]) {
      const known = plugins.filter(plugin => plugin.kind === kind)
      for (const name of Object.keys(objects[kind])) {
        assert.equal(known.find(plugin => plugin.name === name)?.program?.endsWith('/velero'), true, name)
      }
    }
    assert.deepEqual(
      theirs?.log.entries.filter(({ level }) => level === 'warn' || level === 'error'),
      [],
    )
  })

  it('all tell what they are for', async () => {
    assert.ok(velero)
    const all = [
      ...velero.backupItemActions(),
      ...velero.itemBlockActions(),
      ...velero.restoreItemActions(),
      ...velero.deleteItemActions(),
    ]
    assert.ok(all.length >= 34, `${all.length} actions`)
    for (const { name, action } of all) {
      const { includedResources = [] } = await action.appliesTo()
      assert.ok(includedResources.length > 0, name)
    }
  })

  it('are there all, but for those of CSI where that is not enabled', () => {
    assert.ok(theirs && velero)
    const names = velero.backupItemActions().map(({ name }) => name)
    assert.equal(names.filter(name => name.includes('/csi-')).length, 4)
  })

  for (const [kind, byName] of Object.entries(objects) as [SharedKind, Record<string, ActionItem[]>][]) {
    for (const [name, items] of Object.entries(byName)) {
      it(`${kind} ${name} are for the same`, async () => {
        const [a, b] = both(kind, name)
        assert.deepEqual(await a.appliesTo(), await b.appliesTo())
      })
      for (const item of items) {
        it(`${kind} ${name} do the same with ${item.kind} ${item.metadata.name}`, async () => {
          const [a, b] = both(kind, name)
          const [left, right] = [comparable(await run(a, item), item), comparable(await run(b, item), item)]
          if (isDeepStrictEqual(left, right)) return
          assert.ok(throughGoTypes.has(`${kind} ${name}`), JSON.stringify([left, right], undefined, 2))
          assert.deepEqual(withoutEmpty(left), withoutEmpty(right))
        })
      }
    }
  }
})

for (const [where, registry, remote] of [
  ["Velero's, under our host", theirs?.registry, true],
  ['in our process', ours, false],
] as const) {
  const open =
    <Kind>(kind: SharedKind, name: string) =>
    async () => {
      assert.ok(registry)
      const session = registry.open({ log: silentLogger })
      return {
        action: actionOf(session, kind, name) as Kind,
        close: async () => session[Symbol.asyncDispose](),
      }
    }
  const refused = (items: ActionItem[]) =>
    remote ? items.slice(0, 1).map(item => ({ ...item, kind: '' })) : []
  for (const [name, items] of Object.entries(objects.BackupItemAction)) {
    const options = { name: `${name} ${where}`, skip, remote, items, refused: refused(items) }
    backupItemActionConformance({ ...options, open: open<BackupItemAction>('BackupItemAction', name) })
  }
  for (const [name, items] of Object.entries(objects.ItemBlockAction)) {
    const options = { name: `${name} ${where}`, skip, remote, items, refused: refused(items) }
    itemBlockActionConformance({ ...options, open: open<ItemBlockAction>('ItemBlockAction', name) })
  }
  for (const [name, items] of Object.entries(objects.RestoreItemAction)) {
    const options = { name: `${name} ${where}`, skip, remote, restore, items, refused: refused(items) }
    restoreItemActionConformance({ ...options, open: open<RestoreItemAction>('RestoreItemAction', name) })
  }
}

backupItemActionConformance({
  name: "velero.io/csi-pvc-backupper Velero's, under our host",
  skip,
  remote: true,
  items: [claimWithoutCsi(places)],
  // It has no words of its own for an operation that it does not find.
  unknownOperation: ['FAILED'],
  async open() {
    assert.ok(theirs)
    const session = theirs.registry.open({ log: silentLogger })
    const action = session.backupItemAction('velero.io/csi-pvc-backupper')
    return { action, close: async () => session[Symbol.asyncDispose]() }
  },
})

/** Of other backups, ours names the pods of a claim that do not run, too. */
const selecting = { ...backup, spec: { ...backup.spec, labelSelector: { matchLabels: { app: 'till' } } } }

async function run(action: Action, item: ActionItem): Promise<unknown> {
  const copy = () => parseItem(serializeItem(item))
  if ('getRelatedItems' in action) return action.getRelatedItems({ item: copy(), backup: selecting })
  return action.execute({ item: copy(), itemFromBackup: copy(), backup, restore })
}

interface Answer {
  item: ActionItem
  skip?: boolean
  unchanged?: boolean
  additionalItems?: ResourceIdentifier[]
}

/** Restores take no status of what an action returns, so only one that was there is compared. */
function comparable(answer: unknown, given: ActionItem): unknown {
  const sorted = (list: readonly ResourceIdentifier[] = []) => list.map(each => JSON.stringify(each)).sort()
  if (Array.isArray(answer)) return sorted(answer)
  const { item, additionalItems, skip: skipped = false, unchanged: _, ...rest } = answer as Answer
  const { status, ...more } = item
  const compared = given.status === undefined ? more : item
  return { item: compared, additionalItems: sorted(additionalItems), skipped, ...rest }
}
