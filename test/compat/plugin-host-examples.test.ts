import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { after, it } from 'node:test'
import { type ActionItem, pluginKinds, type Registered } from '@lateen/plugin'
import {
  backupItemActionConformance,
  deleteItemActionConformance,
  itemBlockActionConformance,
  restoreItemActionConformance,
} from '@lateen/plugin/action-conformance'
import type { PluginSession } from '../../packages/server/src/plugin-host/plugin-session.ts'
import { makePluginFolder } from './plugin-folder.ts'
import { openPluginHost } from './plugin-host-scene.ts'

const label = (name: string) => ({ [`example.lateen.dev/${name}`]: 'true' })

function configMap(name: string, metadata: Partial<ActionItem['metadata']> = {}): ActionItem {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'shop', ...metadata },
    data: { name },
  }
}

const kindless: ActionItem = { ...configMap('kindless'), kind: '' }

const folder = await makePluginFolder()
const examples = path.resolve(import.meta.dirname, '../../examples')
for (const file of await readdir(examples)) {
  if (file.endsWith('.ts')) await folder.script(path.basename(file, '.ts'), path.join(examples, file))
}
const host = await openPluginHost({ folder: folder.path })
after(async () => {
  await host[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

/** Opens a session and takes one action of it, which is in a process of its own then. */
function open<Action>(take: (session: PluginSession, name: string) => Action, name: string) {
  return async () => {
    const session = host.registry.open({ log: host.log })
    const action = take(session, `example.lateen.dev/${name}`)
    return { action, close: async () => session[Symbol.asyncDispose]() }
  }
}

const backupItemAction = (session: PluginSession, name: string) => session.backupItemAction(name)
const restoreItemAction = (session: PluginSession, name: string) => session.restoreItemAction(name)
function named<Action>(actions: readonly Registered<Action>[], name: string): Action {
  const found = actions.find(each => each.name === name)
  assert.ok(found, name)
  return found.action
}

it('finds a plugin of each kind in the examples', () => {
  const kinds = new Set(host.registry.plugins.map(({ kind }) => kind))
  assert.deepEqual([...pluginKinds.filter(kind => !kinds.has(kind))], [])
  assert.deepEqual(
    host.log.entries.filter(({ level }) => level !== 'info'),
    [],
  )
})

backupItemActionConformance({
  name: 'the example of version 1',
  remote: true,
  items: [configMap('a', { labels: label('noted') }), configMap('b', { annotations: { more: 'x' } })],
  refused: [kindless],
  open: open(backupItemAction, 'note-backup'),
})

backupItemActionConformance({
  name: 'the example of version 2',
  remote: true,
  operations: true,
  items: [configMap('a', { labels: label('copied') })],
  open: open(backupItemAction, 'copy-content'),
})

const envFrom = [{ configMapRef: { name: 'right' } }]
const pod: ActionItem = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'till', namespace: 'shop' },
  spec: { containers: [{ name: 'till', image: 'till', envFrom }] },
}

backupItemActionConformance({
  name: 'the example of version 3',
  remote: true,
  items: [pod, { ...pod, spec: {} }],
  open: open(backupItemAction, 'with-environment'),
})

restoreItemActionConformance({
  name: 'the example of version 1',
  remote: true,
  items: [configMap('a'), configMap('once', { annotations: { 'example.lateen.dev/once': 'true' } })],
  refused: [kindless],
  open: open(restoreItemAction, 'note-restore'),
})

restoreItemActionConformance({
  name: 'the example of version 2',
  remote: true,
  operations: true,
  items: [configMap('a', { labels: label('copied') })],
  open: open(restoreItemAction, 'restore-content'),
})

deleteItemActionConformance({
  name: 'the example',
  remote: true,
  items: [configMap('a', { labels: label('copied') })],
  open: open((session, name) => named(session.deleteItemActions(), name), 'remove-copy'),
})

itemBlockActionConformance({
  name: 'the example',
  remote: true,
  items: [
    configMap('left', { annotations: { 'example.lateen.dev/with': 'right,middle' } }),
    configMap('right'),
  ],
  open: open((session, name) => named(session.itemBlockActions(), name), 'belong-together'),
})

itemBlockActionConformance({
  name: 'the example of version 3, as an item block action',
  remote: true,
  items: [pod],
  open: open((session, name) => named(session.itemBlockActions(), name), 'with-environment'),
})
