// A backup item action with operations for ConfigMaps, in the hands of a test: all it knows is in files of the folder OPERATIONS_FOLDER, so
// that operations outlive its process. See operations-folder.ts for who reads and writes them.
import { appendFile, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Backup } from '@lateen/api'
import {
  type ActionItem,
  type BackupItemAction,
  type BackupItemResult,
  invalidOperationId,
  type OperationProgress,
} from '@lateen/plugin'
import { servePlugin } from '@lateen/plugin/serve'
import { actionName, type BegunRecord, label, type OperationState, wishes } from './operations-records.ts'

const folder = process.env.OPERATIONS_FOLDER ?? '.'

function note(what: string, id: string): Promise<void> {
  return appendFile(path.join(folder, 'seen'), `${what} ${id}\n`)
}

async function read<T>(file: string): Promise<T | undefined> {
  const text = await readFile(path.join(folder, file), 'utf8').catch(() => undefined)
  return text === undefined || text === '' ? undefined : JSON.parse(text)
}

async function untilLetGo(backup: string): Promise<void> {
  while ((await read(`${backup}.go`)) === undefined) await sleep(50)
}

interface Wish {
  backup: Backup
  wish: string
}

async function begin(
  item: ActionItem,
  { backup, wish }: Wish,
  when = `${Date.now()}`,
): Promise<BackupItemResult> {
  const { name = '', namespace = '' } = item.metadata
  const id = `${backup.metadata.name}.${name}.${when}`
  const record: BegunRecord = { id, backup: backup.metadata.name ?? '', item: name, wish, begun: Date.now() }
  await writeFile(path.join(folder, `${id}.begun`), JSON.stringify(record))
  await note('begun', id)
  const postOperationItems = [{ group: '', resource: 'configmaps', namespace, name }]
  return { item, operationId: id, postOperationItems }
}

async function finalize(item: ActionItem, wish: Wish): Promise<BackupItemResult> {
  const { name = '', namespace = '', annotations = {} } = item.metadata
  await note('finalized', name)
  item.metadata.annotations = { ...annotations, [wishes.finalized]: wish.backup.status?.phase ?? '' }
  if (wish.wish === 'begin-too-late') return begin(item, wish, 'late')
  const additionalItems = Object.entries(annotations)
    .filter(([key]) => key === wishes.additional)
    .map(([, secret]) => ({ group: '', resource: 'secrets', namespace, name: secret }))
  return { item, additionalItems }
}

const action: BackupItemAction = {
  async appliesTo() {
    return { includedResources: ['configmaps'], labelSelector: `${label}=true` }
  },

  async execute({ item, backup }) {
    const { name = '', annotations = {} } = item.metadata
    const wish = annotations[wishes.behaviour] ?? 'wait'
    const isFinalizing = /^Finalizing/.test(backup.status?.phase ?? '')
    if (wish === (isFinalizing ? 'hold-finalizing' : 'hold')) {
      await note('held', `${backup.metadata.name}.${name}`)
      await untilLetGo(backup.metadata.name ?? '')
    }
    if (isFinalizing) return finalize(item, { backup, wish })
    return wish === 'hold' ? { item, unchanged: true } : begin(item, { backup, wish })
  },

  async progress({ operationId }) {
    const record = await read<BegunRecord>(`${operationId}.begun`)
    if (record === undefined) throw invalidOperationId(operationId)
    if (record.wish === 'progress-error') throw new Error(`nobody knows how ${record.item} stands`)
    const state = await read<OperationState>(`${operationId}.state`)
    if (record.wish === 'crash' && state === undefined) {
      await note('crashed', operationId)
      process.exit(1)
    }
    return progressOf(record, state)
  },

  async cancel({ operationId }) {
    await note('cancelled', operationId)
    const record = await read<BegunRecord>(`${operationId}.begun`)
    if (record?.wish === 'cancel-error') throw new Error('it cannot be stopped')
  },
}

const BRIEF_MS = 1_000
const completing = ['complete', 'fail', 'hold-finalizing']

function progressOf({ wish, item, begun }: BegunRecord, state: OperationState = {}): OperationProgress {
  const completed =
    state.completed ?? (completing.includes(wish) || (wish === 'brief' && Date.now() > begun + BRIEF_MS))
  return {
    completed,
    error: state.error ?? (wish === 'fail' ? `the disk of ${item} is full` : ''),
    nCompleted: state.nCompleted ?? (completed ? 10 : 1),
    nTotal: 10,
    operationUnits: 'pages',
    description: completed ? 'copied' : 'copying',
    started: begun,
    updated: begun,
  }
}

void servePlugin({ BackupItemActionV2: { [actionName]: () => action } })
