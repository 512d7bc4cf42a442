// Runs the suites of actions against one that is fine and others that each break one promise. Run by a test, as a program.
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type BackupActionConformanceOptions,
  backupItemActionConformance,
  itemBlockActionConformance,
  restoreItemActionConformance,
} from '../action-conformance.ts'
import type { ActionItem, BackupItemAction } from '../item-actions.ts'
import { invalidOperationId } from '../plugin-error.ts'
import type { RestoreItemAction } from '../restore-item-action.ts'

const configMap = (name: string): ActionItem => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'n', annotations: { a: '1' } },
})
const items = [configMap('a'), configMap('b')]

const progress = { nCompleted: 1, nTotal: 1, operationUnits: '', description: '' }

const fine: BackupItemAction = {
  appliesTo: async () => ({ includedResources: ['configmaps'], labelSelector: 'a in (b,c),!d,e=f' }),
  execute: async ({ item, backup }) => ({
    ...{ item, unchanged: true },
    ...(backup.status?.phase !== 'Finalizing' && { operationId: `op-${item.metadata.name}` }),
  }),
  async progress({ operationId }) {
    if (!operationId.startsWith('op-')) throw invalidOperationId(operationId)
    return { completed: true, error: '', ...progress }
  },
  cancel: async () => {},
}

function suite(
  name: string,
  action: Partial<BackupItemAction>,
  more: Partial<BackupActionConformanceOptions> = {},
) {
  const open = async () => ({ action: { ...fine, ...action }, close: async () => {} })
  backupItemActionConformance({ name, items, operations: true, open, ...more })
}

suite('fine', {})

let asked = 0
suite('fickle', {
  async appliesTo() {
    asked += 1
    return { includedResources: [`resource${asked}`] }
  },
})
suite('senseless', { appliesTo: async () => ({ includedResources: [''] }) })
suite('rounding', {
  async execute(input) {
    const text = JSON.stringify(input.item).replace(
      /"generation":(\d+)/,
      (_, digits) => `"generation":${Number(digits)}`,
    )
    return { ...(await fine.execute(input)), item: JSON.parse(text) as ActionItem, unchanged: false }
  },
})
suite('lying', {
  async execute(input) {
    input.item.metadata.annotations = { a: '2' }
    return fine.execute(input)
  },
})
suite('restless', {
  execute: async ({ item }) => ({ item, unchanged: true, operationId: `op-${item.metadata.name}` }),
})
suite('all-knowing', { progress: async () => ({ completed: true, error: '', ...progress }) })
suite('boundless', { progress: async input => ({ ...(await fine.progress?.(input)), ...overfull }) })
suite('nameless', {
  execute: async input => ({
    ...(await fine.execute(input)),
    item: { ...input.item, kind: '' },
    unchanged: false,
  }),
})

let current = ''
suite('muddled', {
  async execute(input) {
    current = input.item.metadata.name ?? ''
    await sleep(1)
    const annotations = { last: current }
    const item = { ...input.item, metadata: { ...input.item.metadata, annotations } }
    return { ...(await fine.execute(input)), item, unchanged: false }
  },
})
suite('idle', { execute: async ({ item }) => ({ item, unchanged: true }) })
suite('deaf', { execute: input => fine.execute(input) }, { remote: true })

const overfull = { completed: false, error: '', ...progress, nCompleted: 5 }

const restoring: RestoreItemAction = {
  appliesTo: fine.appliesTo,
  execute: async ({ item }) => ({
    item,
    additionalItems: [{ group: '', resource: 'Secrets', namespace: '', name: 'x' }],
  }),
}
restoreItemActionConformance({
  name: 'misnaming',
  items,
  open: async () => ({ action: restoring, close: async () => {} }),
})

itemBlockActionConformance({
  name: 'meddling',
  items,
  open: async () => ({
    action: {
      appliesTo: fine.appliesTo,
      async getRelatedItems({ item }) {
        item.metadata.labels = { touched: 'yes' }
        return []
      },
    },
    close: async () => {},
  }),
})
