// A plugin program that fails in the ways that a host has to survive. It notes in the folder FAULTY_NOTES what it is asked.
import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, writeSync } from 'node:fs'
import path from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type ActionItem,
  type BackupItemAction,
  type ObjectStore,
  ObjectStoreError,
  PluginError,
  type VolumeSnapshotter,
} from '@lateen/plugin'
import { type PluginContext, servePlugin } from '@lateen/plugin/serve'

const notes = process.env.FAULTY_NOTES ?? '.'
const mebibyte = 1 << 20

function note(text: string): void {
  appendFileSync(path.join(notes, 'seen'), `${process.pid} ${text}\n`)
}

/** What it returns is stored instead of the object, if it is anything. */
type Effect = (item: ActionItem, context: PluginContext) => unknown

function action(effect: Effect) {
  return (context: PluginContext): BackupItemAction => ({
    appliesTo: async () => ({ includedResources: ['configmaps'] }),
    async execute({ item, signal }) {
      note(`execute ${context.name}`)
      const left = () => note(`left ${context.name}`)
      signal?.addEventListener('abort', left)
      const changed = (await effect(item, context)) as ActionItem | undefined
      signal?.removeEventListener('abort', left)
      return changed ? { item: changed } : { item, unchanged: true }
    },
  })
}

function dieNow(): Promise<void> {
  process.kill(process.pid, 'SIGKILL')
  return sleep(60_000)
}

function flood(fd: number, bytes: number): void {
  const part = Buffer.alloc(mebibyte, 'x')
  for (let left = bytes; left > 0; ) {
    try {
      left -= writeSync(fd, part, 0, Math.min(left, part.length))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    }
  }
}

const actions: Record<string, Effect> = {
  fine: () => {},
  exits: () => process.exit(3),
  killed: dieNow,
  // Not before its answer is sent.
  'exits-soon': () => void setTimeout(() => process.exit(3), 1000),
  panics: item => (item as unknown as { spec: { none: { at: { all: () => void } } } }).spec.none.at.all(),
  refuses: () => {
    throw new PluginError('FAILED', { reason: 'this is refused,\nover two lines and with ünïcödé' })
  },
  hangs: () => new Promise<void>(() => {}),
  blocks: () => {
    for (;;);
  },
  floods: () => {
    flood(1, 10 * mebibyte)
    flood(2, 10 * mebibyte)
  },
  'answers-much': item => ({ ...item, data: { text: 'x'.repeat(100 * mebibyte) } }),
  // The grandchild has the pipes of this process, and keeps them when it is gone.
  'leaves-grandchild': () => {
    const child = spawn('sleep', ['300'], { stdio: ['ignore', 1, 2] })
    note(`grandchild ${child.pid}`)
    process.exit(3)
  },
  logs: (_item, { log }) => {
    // What was written before may have no end.
    writeSync(2, '\n')
    log.debug({}, 'a debug line')
    log.info({ name: 5, namespace: null }, 'an info line')
    log.warn({ reason: 'x'.repeat(70_000) }, 'a warning')
    const raw = [
      '{"@message":5,"@level":"info"}',
      '{"@level":"warning","@message":"odd level"}',
      '[WARN] prefixed',
    ]
    for (const line of [
      ...raw,
      'plain text',
      '{"half":',
      '\u0000\u0001',
      'panic: it is all over',
      'goroutine 1',
    ])
      writeSync(2, `${line}\n`)
  },
}

function store({ log }: PluginContext): ObjectStore {
  const objects = new Map<string, Buffer>()
  return {
    async init({ config }) {
      note(`init store ${JSON.stringify(config)}`)
      if (existsSync(path.join(notes, 'refuse-init'))) throw new Error('it is told to refuse')
    },
    async putObject({ key, body }) {
      note(`put ${key}`)
      const parts: Uint8Array[] = []
      for await (const part of Readable.from(body as AsyncIterable<Uint8Array>)) {
        parts.push(part)
        if (key.includes('killed')) await dieNow()
      }
      objects.set(key, Buffer.concat(parts))
    },
    async objectExists({ key }) {
      note(`exists ${key}`)
      return objects.has(key)
    },
    async getObject({ key }) {
      note(`get ${key}`)
      log.info({ key }, 'Reading')
      return Readable.from(contentOf(key))
    },
    async *listCommonPrefixes() {},
    async *listObjects({ prefix }) {
      for (let index = 0; index < 100_000; index += 1) yield `${prefix}${String(index).padStart(60, '0')}`
    },
    deleteObject: async () => {},
    createSignedUrl: async () => {
      throw new ObjectStoreError('UNKNOWN', { reason: 'nothing is signed here' })
    },
    async [Symbol.asyncDispose]() {},
  }
}

async function* contentOf(key: string): AsyncGenerator<Uint8Array> {
  yield Buffer.alloc(64_000, 'x')
  if (!key.includes('killed')) return
  await sleep(20)
  await dieNow()
}

function snapshotter(): VolumeSnapshotter {
  return {
    async init({ config }) {
      note(`init snapshotter ${JSON.stringify(config)}`)
    },
    async createSnapshot({ volumeId }) {
      note(`snapshot ${volumeId}`)
      if (volumeId.includes('killed')) await dieNow()
      return `snapshot of ${volumeId}`
    },
    createVolumeFromSnapshot: async () => 'volume',
    getVolumeInfo: async () => ({ volumeType: 'faulty' }),
    deleteSnapshot: async () => {},
    getVolumeId: async () => undefined,
    setVolumeId: async ({ persistentVolume }) => persistentVolume,
  }
}

/** Tells the progress of any operation, fifteen seconds late. */
const late: BackupItemAction = {
  appliesTo: async () => ({ includedResources: ['configmaps'] }),
  execute: async ({ item }) => ({ item, unchanged: true, operationId: 'one' }),
  async progress({ operationId }) {
    note(`progress ${operationId}`)
    await sleep(15_000)
    note(`answering ${operationId}`)
    const counts = { nCompleted: 1, nTotal: 1, operationUnits: '', description: '' }
    return { completed: true, error: '', ...counts }
  },
}

note('started')
if (existsSync(path.join(notes, 'refuse-start'))) process.exit(4)
const named = Object.entries(actions).map(
  ([name, effect]) => [`example.com/${name}`, action(effect)] as const,
)
void servePlugin({
  BackupItemAction: Object.fromEntries(named),
  BackupItemActionV2: { 'example.com/late': () => late },
  ObjectStore: { 'example.com/store': store },
  VolumeSnapshotter: { 'example.com/snapshotter': snapshotter },
})
