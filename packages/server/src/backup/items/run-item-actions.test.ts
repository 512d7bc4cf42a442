import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { annotationNames } from '@lateen/api'
import type { ActionItem, BackupItemAction } from '@lateen/plugin'
import { ItemError } from '../../item/item-error.ts'
import { JournalError } from '../../operations/operation-journal.ts'
import { createMemoryRun } from '../blocks/testing/memory-run.ts'
import { runItemActions } from './run-item-actions.ts'

const { signal } = new AbortController()
const web = { path: 'configmaps/shop/web', body: { metadata: { name: 'web', namespace: 'shop' } } }

type Answered = (item: ActionItem) => ActionItem | undefined

/** Runs an action that begins an operation, with a journal that answers as told. */
async function begin(
  note: () => Promise<void>,
  cancel: () => Promise<void>,
  answered: Answered = item => item,
) {
  const action: BackupItemAction = {
    appliesTo: async () => ({}),
    execute: async ({ item }) => ({
      item: answered(item),
      operationId: 'op-1',
      additionalItems: [{ group: '', resource: 'secrets', namespace: 'shop', name: 'web' }],
      postOperationItems: [{ group: '', resource: 'configmaps', namespace: 'shop', name: 'web' }],
    }),
    cancel,
  }
  const events: string[] = []
  const { run, collected } = await createMemoryRun({
    objects: [web],
    itemActions: [{ name: 'x.io/slow', action }],
  })
  const [item] = collected
  assert.ok(item !== undefined)
  const running = runItemActions(await run.source.load(item), {
    run: {
      ...run,
      operations: {
        all: [],
        add: operation => note().finally(() => events.push(operation.spec.operationID)),
      },
    },
    storeAdditional: async ({ id }) => void events.push(id.resource),
    signal,
  })
  return { running, events }
}

describe('an action that begins an operation', () => {
  it('has its result used after the operation is noted', async () => {
    const { running, events } = await begin(
      async () => undefined,
      async () => undefined,
    )
    await running
    assert.deepEqual(events, ['op-1', 'secrets'])
  })

  for (const [how, answered] of [
    ['without an object', () => undefined],
    [
      'with the annotation',
      (item: ActionItem) => ({
        ...item,
        metadata: { ...item.metadata, annotations: { [annotationNames.skipFromBackup]: 'true' } },
      }),
    ],
  ] satisfies [string, Answered][]) {
    it(`has it noted though it leaves its item out (${how})`, async () => {
      const nothing = async () => undefined
      const { running, events } = await begin(nothing, nothing, answered)
      assert.equal(await running, undefined)
      assert.deepEqual(events, ['op-1'])
    })
  }

  for (const [how, stop] of [
    ['', async () => undefined],
    [', even if it cannot be', () => Promise.reject(new Error('too late'))],
  ] as const) {
    it(`is stopped when that cannot be noted, and its item fails${how}`, async () => {
      let cancelled = 0
      const { running, events } = await begin(
        () => Promise.reject(new JournalError('op-1', new Error('access denied'))),
        () => {
          cancelled += 1
          return stop()
        },
      )
      await assert.rejects(
        running,
        error => error instanceof ItemError && /x\.io\/slow .*access denied/.test(error.message),
      )
      assert.equal(cancelled, 1)
      assert.deepEqual(events, ['op-1'])
    })
  }
})
