import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Backup, Restore } from '@lateen/api'
import { assertCode, checkIdentifiers, checkItem, checkProgress, checkSelector } from './action-answers.ts'
import type { DeleteItemAction } from './delete-item-action.ts'
import type {
  ActionItem,
  BackupItemAction,
  ItemBlockAction,
  OperationProgress,
  ResourceIdentifier,
  ResourceSelector,
} from './item-actions.ts'
import { parseItem, serializeItem } from './item-json.ts'
import type { PluginErrorCode } from './plugin-error.ts'
import type { RestoreItemAction } from './restore-item-action.ts'

/** An action under test. */
export interface OpenAction<Action> {
  action: Action
  close(): Promise<void>
}

/** What all suites of actions need. */
export interface ActionConformanceOptions<Action> {
  /** Stands in the test titles: the action, and where it runs. */
  name: string
  /** Called more than once: what an operation is must be known to every opened action. */
  open(): Promise<OpenAction<Action>>
  /** Objects that the action is for, at least one. What it does with each is the same each time. */
  items: readonly ActionItem[]
  /** Objects that it answers with an error, after which it works as before. */
  refused?: readonly ActionItem[]
  /** Runs in a process of its own: calls end with their signal, and errors are PluginErrors. */
  remote?: boolean
  /** Why the suite cannot run here, or false. */
  skip?: string | false
}

export interface OperationConformance {
  /** Whether each of the objects starts an operation that ends well within a minute. Default: false. */
  operations?: boolean
  /** What `progress` may say of an operation that nobody started. Default: that its id is invalid, or that there are none at all. */
  unknownOperation?: readonly PluginErrorCode[]
}

export type BackupActionConformanceOptions = ActionConformanceOptions<BackupItemAction> & OperationConformance

export type RestoreActionConformanceOptions = ActionConformanceOptions<RestoreItemAction> &
  OperationConformance & {
    /** For actions that look at the restore. */
    restore?: Restore
  }

const backup: Backup = {
  apiVersion: 'velero.io/v1',
  kind: 'Backup',
  metadata: { name: 'conformance', namespace: 'velero' },
  spec: {},
}
const finalizing: Backup = { ...backup, status: { phase: 'Finalizing' } }
const someRestore: Restore = {
  apiVersion: 'velero.io/v1',
  kind: 'Restore',
  metadata: { name: 'conformance', namespace: 'velero' },
  spec: { backupName: 'conformance' },
}

/** No safe integer of JavaScript; every object may have such a generation. */
const largeInteger = '9007199254740993'
const atOnce = 24

/**
 * Registers the tests every backup item action passes, whatever its version. Call it at the top of a test file, or inside a `describe`:
 * `backupItemActionConformance({ name: 'mine', items: [pod], open: async () => ({ action, close }) })`.
 */
export function backupItemActionConformance(options: BackupActionConformanceOptions): void {
  suite('backup item action', options, at => {
    const run = async (item: ActionItem, given: Run = {}) => {
      const result = await at().execute({ item: copyOf(item), backup, ...given })
      if (result.item !== undefined) checkItem(result.item)
      checkIdentifiers(result.additionalItems)
      checkIdentifiers(result.postOperationItems)
      return result
    }
    executeTests(options, run)

    it('gives back what it left alone byte for byte', async () => {
      for (const item of options.items) {
        const result = await run(item)
        if (result.unchanged !== true) continue
        assert.equal(textOf(result.item), textOf(item))
      }
    })

    it('names what belongs to an object before it is stored, and leaves the object alone', async () => {
      for (const item of options.items) {
        const asked = copyOf(item)
        checkIdentifiers(await at().getAdditionalItems?.({ item: asked, backup }))
        assert.equal(textOf(asked), textOf(item))
      }
    })

    it('starts no operation while a backup is finalized', async () => {
      for (const item of options.items) {
        assert.equal((await run(item, { backup: finalizing })).operationId ?? '', '')
      }
    })

    operationTests(options, {
      async start(item) {
        return (await run(item)).operationId
      },
      progress: action => action.progress && (operationId => action.progress?.({ operationId, backup })),
      cancel: action => action.cancel && (operationId => action.cancel?.({ operationId, backup })),
      current: at,
    })
  })
}

/** Registers the tests every restore item action passes. */
export function restoreItemActionConformance(options: RestoreActionConformanceOptions): void {
  const { restore = someRestore } = options
  suite('restore item action', options, at => {
    const run = async (item: ActionItem, given: Run = {}) => {
      const itemFromBackup = copyOf(item)
      const result = await at().execute({ item: copyOf(item), itemFromBackup, restore, ...given })
      checkItem(result.item)
      checkIdentifiers(result.additionalItems)
      assert.ok((result.additionalItemsReadyTimeout ?? 0) >= 0)
      return result
    }
    executeTests(options, run)

    it('answers whether additional items are ready', async () => {
      const { areAdditionalItemsReady } = at()
      const [first] = options.items
      const additionalItems = (first && (await run(first)).additionalItems) ?? []
      const ready = await areAdditionalItemsReady?.call(at(), { additionalItems, restore })
      assert.ok(ready === undefined || typeof ready === 'boolean')
    })

    operationTests(options, {
      async start(item) {
        return (await run(item)).operationId
      },
      progress: action => action.progress && (operationId => action.progress?.({ operationId, restore })),
      cancel: action => action.cancel && (operationId => action.cancel?.({ operationId, restore })),
      current: at,
    })
  })
}

/** Registers the tests every delete item action passes. */
export function deleteItemActionConformance(options: ActionConformanceOptions<DeleteItemAction>): void {
  suite('delete item action', options, at => {
    const run = async (item: ActionItem, given: Run = {}) => {
      const answer: unknown = await at().execute({ item: copyOf(item), backup, ...given })
      assert.equal(answer, undefined)
      return { item: undefined }
    }
    executeTests(options, run)

    it('finds nothing wrong with an object that it has been called for before', async () => {
      for (const item of [...options.items, ...options.items]) await run(item)
    })
  })
}

/** Registers the tests every item block action passes. */
export function itemBlockActionConformance(options: ActionConformanceOptions<ItemBlockAction>): void {
  suite('item block action', options, at => {
    const run = async (item: ActionItem, given: Run = {}) => {
      const asked = copyOf(item)
      const related = await at().getRelatedItems({ item: asked, backup, ...given })
      checkIdentifiers(related)
      return { item: asked, additionalItems: related }
    }
    executeTests(options, run)

    it('leaves the object alone', async () => {
      for (const item of options.items) assert.equal(textOf((await run(item)).item), textOf(item))
    })
  })
}

type Selecting = { appliesTo(): Promise<ResourceSelector> }
type Run = { signal?: AbortSignal; backup?: Backup }
type Ran = { item: ActionItem | undefined; additionalItems?: readonly ResourceIdentifier[] }

function suite<Action extends Selecting>(
  kind: string,
  options: ActionConformanceOptions<Action>,
  tests: (at: () => Action) => void,
): void {
  describe(`${kind} conformance: ${options.name}`, { skip: options.skip ?? false }, () => {
    let opened: OpenAction<Action> | undefined
    before(async () => {
      opened = await options.open()
    })
    after(async () => {
      await opened?.close()
    })
    const at = () => {
      assert.ok(opened, 'the action did not open')
      return opened.action
    }
    selectorTests(at)
    tests(at)
  })
}

function selectorTests(at: () => Selecting): void {
  it('selects by lists and a label selector that make sense, the same each time', async () => {
    const selectors = await Promise.all(Array.from({ length: 8 }, () => at().appliesTo()))
    for (const selector of [...selectors, await at().appliesTo()]) {
      checkSelector(selector)
      assert.deepEqual(selector, selectors[0])
    }
  })
}

function executeTests<Action>(
  { items, refused = [], remote = false }: ActionConformanceOptions<Action>,
  run: (item: ActionItem, given?: Run) => Promise<Ran>,
): void {
  it('answers with objects that have a kind and a name, the same each time', async () => {
    assert.ok(items.length > 0, 'there are objects to try')
    for (const item of items) assert.equal(told(await run(item)), told(await run(item)))
  })

  it('keeps integers that JavaScript does not have', async () => {
    for (const item of items) {
      const large = withLargeInteger(item)
      const result = await run(large)
      if (result.item === undefined) continue
      assert.ok(textOf(result.item).includes(`"generation":${largeInteger}`), textOf(result.item))
    }
  })

  it('answers many calls at once as it answers one', async () => {
    const alone = new Map<ActionItem, string>()
    for (const item of items) alone.set(item, told(await run(item)))
    const calls = Array.from({ length: atOnce }, (_, index) => items[index % items.length] as ActionItem)
    const answers = await Promise.all(calls.map(async item => ({ item, answer: told(await run(item)) })))
    for (const { item, answer } of answers) assert.equal(answer, alone.get(item))
  })

  it('gives up when its signal has aborted, and works afterwards', async () => {
    const reason = new Error('stopped by the test')
    for (const item of items) {
      const signal = AbortSignal.abort(reason)
      const ended = await run(item, { signal }).then(() => undefined, wrapped)
      // What runs in this process may be done before it looks at the signal.
      if (remote) assert.equal(ended?.error, reason)
      await run(item)
    }
  })

  it('ends calls with their signal, at whatever moment, and works afterwards', async () => {
    const reason = new Error('stopped by the test')
    for (let moment = 0; moment < 8; moment += 1) {
      const item = items[moment % items.length] as ActionItem
      const stop = new AbortController()
      const calling = run(item, { signal: stop.signal }).then(() => undefined, wrapped)
      await sleep(moment)
      stop.abort(reason)
      const ended = await calling
      if (remote && ended !== undefined) assert.equal(ended.error, reason)
      await run(item)
    }
  })

  for (const item of refused) {
    it(`says what is wrong with ${item.kind || 'an object without a kind'}, and goes on`, async () => {
      await assert.rejects(run(item), error => {
        assert.ok(error instanceof Error && error.message !== '')
        if (remote) assertCode(error, ['FAILED', 'PANICKED', 'BAD_ANSWER'])
        return true
      })
      for (const good of items) await run(good)
    })
  }
}

interface Operations<Action> {
  current(): Action
  start(item: ActionItem): Promise<string | undefined>
  progress(action: Action): ((id: string) => Promise<OperationProgress> | undefined) | undefined
  cancel(action: Action): ((id: string) => Promise<void> | undefined) | undefined
}

const invalid: PluginErrorCode = 'INVALID_OPERATION_ID'
const unknownIds = ['lateen-conformance-unknown', 'a/b', '0', 'x'.repeat(300)]

function operationTests<Action>(
  options: ActionConformanceOptions<Action> & OperationConformance,
  { current, start, progress, cancel }: Operations<Action>,
): void {
  const { operations = false, items, open, remote = false } = options
  const { unknownOperation = operations ? [invalid] : [invalid, 'ASYNC_OPERATIONS_NOT_SUPPORTED'] } = options
  const ask = async (id: string, action = current()) => {
    const answer = await progress(action)?.(id)
    assert.ok(answer, 'an action with operations tells their progress')
    checkProgress(answer)
    return answer
  }
  const untilComplete = async (id: string) => {
    for (let round = 0; round < 600; round += 1) {
      const answer = await ask(id)
      if (answer.completed) return answer
      await sleep(100)
    }
    throw new Error(`operation ${id} does not end`)
  }

  it('knows no operation that it did not start', async () => {
    const asking = progress(current())
    if (asking === undefined) return
    for (const id of unknownIds) {
      await assert.rejects(
        async () => asking(id),
        error => {
          assertCode(error, unknownOperation)
          return true
        },
      )
    }
  })

  it('cancels an operation that it does not know without complaint, or says so', async () => {
    for (const id of unknownIds) await cancelled(cancel(current()), id)
  })

  if (!operations) {
    it('starts no operations', async () => {
      for (const item of items) assert.equal((await start(item)) ?? '', '')
    })
    return
  }

  it('tells how an operation goes on, until it is complete', async () => {
    for (const item of items) {
      const id = (await start(item)) ?? ''
      assert.notEqual(id, '', 'it has started an operation')
      const end = await untilComplete(id)
      assert.equal(end.error, '')
      const again = await ask(id)
      assert.deepEqual({ ...again, updated: 0 }, { ...end, updated: 0 })
      await cancelled(cancel(current()), id)
      assert.equal((await ask(id)).error, '', 'to cancel what is complete has no effect')
    }
  })

  it('knows an operation that another process of it started, and cancels it', async () => {
    const [item] = items
    assert.ok(item)
    const id = (await start(item)) ?? ''
    const other = await open()
    try {
      await ask(id, other.action)
      await cancelled(cancel(other.action), id)
    } finally {
      await other.close()
    }
    if (remote) await ask(id)
  })
}

/** To cancel is no error, or one that says what the plugin thinks of it: the call itself worked. */
async function cancelled(
  cancel: ((id: string) => Promise<void> | undefined) | undefined,
  id: string,
): Promise<void> {
  const ended = await Promise.resolve(cancel?.(id)).then(() => undefined, wrapped)
  if (ended === undefined) return
  assertCode(ended.error, ['INVALID_OPERATION_ID', 'ASYNC_OPERATIONS_NOT_SUPPORTED', 'FAILED'])
}

function wrapped(error: unknown): { error: unknown } {
  return { error }
}

/** What an action answered, but for ids of operations, which are new each time. */
function told({ item, additionalItems = [], ...more }: Ran & { operationId?: string }): string {
  const rest = { ...more, operationId: more.operationId ? 'one' : '' }
  return JSON.stringify({
    item,
    additionalItems: additionalItems.map(id => JSON.stringify(id)).sort(),
    ...rest,
  })
}

function withLargeInteger(item: ActionItem): ActionItem {
  const text = textOf({ ...item, metadata: { ...item.metadata, generation: 0 } })
  return parseItem(Buffer.from(text.replace('"generation":0', `"generation":${largeInteger}`)))
}

function copyOf(item: ActionItem): ActionItem {
  return parseItem(serializeItem(item))
}

function textOf(item: ActionItem | undefined): string {
  return item === undefined ? '' : Buffer.from(serializeItem(item)).toString()
}
