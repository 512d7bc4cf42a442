import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import type { ServerScene } from './backup-server-scene.ts'
import { type BegunRecord, type Behaviour, label, type OperationState, wishes } from './operations-records.ts'

/** The folder in which operations-plugin.ts keeps its operations, and a plugins folder with that program. */
export class OperationsFolder implements AsyncDisposable {
  readonly #root: string

  private constructor(root: string) {
    this.#root = root
  }

  static async create(): Promise<OperationsFolder> {
    const root = await mkdtemp(path.join(tmpdir(), 'lateen-operations-'))
    const folder = new OperationsFolder(root)
    for (const each of [folder.plugins, folder.#state]) await mkdir(each)
    const program = path.join(folder.plugins, 'operations')
    const source = path.join(import.meta.dirname, 'operations-plugin.ts')
    const lines = [
      '#!/bin/sh',
      `OPERATIONS_FOLDER='${folder.#state}' exec '${process.execPath}' '${source}' "$@"`,
    ]
    await writeFile(program, `${lines.join('\n')}\n`)
    await chmod(program, 0o755)
    return folder
  }

  /** For the server. */
  get plugins(): string {
    return path.join(this.#root, 'plugins')
  }

  get #state(): string {
    return path.join(this.#root, 'state')
  }

  /** Operations of a backup, as the plugin began them. */
  async begun(backup: string): Promise<BegunRecord[]> {
    const names = (await readdir(this.#state)).filter(
      name => name.startsWith(`${backup}.`) && name.endsWith('.begun'),
    )
    const texts = await Promise.all(names.map(name => readFile(path.join(this.#state, name), 'utf8')))
    return texts.filter(text => text !== '').map(text => JSON.parse(text) as BegunRecord)
  }

  /** Waits until so many operations of a backup have begun, and are in the bucket for all that the plugin knows. */
  async untilBegun(backup: string, count: number): Promise<void> {
    const hasBegun = async () => (await this.begun(backup)).length >= count || undefined
    const failure = () => new Error(`no ${count} operations of ${backup} have begun`)
    await waitUntil(hasBegun, { timeoutMs: 120_000, everyMs: 50, failure })
  }

  /** The operation of an item of a backup. */
  async of(backup: string, item: string): Promise<BegunRecord> {
    const found = (await this.begun(backup)).find(record => record.item === item)
    if (found === undefined) throw new Error(`no operation of ${backup} for ${item} has begun`)
    return found
  }

  /** Says how an operation stands from now on. */
  async set({ id }: BegunRecord, state: OperationState): Promise<void> {
    const file = path.join(this.#state, `${id}.state`)
    await writeFile(`${file}.new`, JSON.stringify(state))
    await rename(`${file}.new`, file)
  }

  /** Lets all operations of a backup complete. */
  async completeAll(backup: string): Promise<void> {
    for (const record of await this.begun(backup)) await this.set(record, { completed: true })
  }

  /** Waits until the plugin holds an item of a backup. */
  async held(backup: string, item: string): Promise<void> {
    const isHeld = async () => (await this.#seen('held')).includes(`${backup}.${item}`) || undefined
    const failure = () => new Error(`${item} of ${backup} is not held`)
    await waitUntil(isHeld, { timeoutMs: 120_000, everyMs: 50, failure })
  }

  /** Lets go of what the plugin holds for a backup. */
  async letGo(backup: string): Promise<void> {
    await writeFile(path.join(this.#state, `${backup}.go`), '{}')
  }

  /** Waits until the plugin was asked to stop all operations of a backup, and returns their ids. */
  async untilCancelled(backup: string): Promise<string[]> {
    const ids = (await this.begun(backup)).map(({ id }) => id)
    const all = async () => {
      const cancelled = new Set(await this.cancelled(backup))
      return ids.every(id => cancelled.has(id)) ? ids : undefined
    }
    const failure = () => new Error(`operations of ${backup} are not cancelled`)
    return await waitUntil(all, { timeoutMs: 120_000, everyMs: 50, failure })
  }

  /** Makes the plugin forget an operation. */
  async forget({ id }: BegunRecord): Promise<void> {
    await rm(path.join(this.#state, `${id}.begun`))
  }

  /** Ids, in the order in which the plugin was asked to stop them. */
  async cancelled(backup: string): Promise<string[]> {
    return (await this.#seen('cancelled')).filter(id => id.startsWith(`${backup}.`))
  }

  /** Ids of operations that took the program with them, as often as they did. */
  async crashed(backup: string): Promise<string[]> {
    return (await this.#seen('crashed')).filter(id => id.startsWith(`${backup}.`))
  }

  /** Names of items that were stored again. */
  finalized(): Promise<string[]> {
    return this.#seen('finalized')
  }

  async #seen(what: string): Promise<string[]> {
    const text = await readFile(path.join(this.#state, 'seen'), 'utf8').catch(() => '')
    return text.split('\n').flatMap(line => {
      const [seen, id] = line.split(' ')
      return seen === what && id !== undefined ? [id] : []
    })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return rm(this.#root, { recursive: true, force: true })
  }
}

/** Something whose backup has an operation. */
export interface CopiedItem {
  name: string
  behaviour?: Behaviour
  /** A Secret that the action wants stored with it in the end. */
  additional?: string
}

/** Makes a ConfigMap for each, in a namespace of its own, which is returned. Disposed of with the namespace of the scene's data. */
export async function createCopied(
  { cluster, data }: Pick<ServerScene, 'cluster' | 'data'>,
  place: string,
  items: readonly CopiedItem[],
): Promise<string> {
  const namespace = `${data}-${place}`
  const objects = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    ...items.map(({ name, behaviour, additional }) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name,
        namespace,
        labels: { [label]: 'true' },
        annotations: {
          ...(behaviour && { [wishes.behaviour]: behaviour }),
          ...(additional && { [wishes.additional]: additional }),
        },
      },
      data: { content: 'before' },
    })),
  ]
  for (const list of chunks(objects, 500)) {
    const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: list })
    await cluster.kubectl(['create', '-f', '-'], { stdin })
  }
  return namespace
}

function chunks<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, at) =>
    all.slice(at * size, (at + 1) * size),
  )
}
