import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { announceSeed, rotatingSeeds, seededRandom } from '../../tools/test/seeds.ts'
import { kopiaRepository, kopiaSkip } from './kopia.ts'
import {
  clientOf,
  completeSnapshots,
  type KillableAct,
  killableActs,
  newRepository,
  openFolder,
} from './repo-kill-acts.ts'
import { writeSourceTree } from './source-tree.ts'

const worker = path.join(import.meta.dirname, 'repo-kill-worker.ts')
const password = 'static-passw0rd'

/** A repository to copy for each seed: two snapshots, and the leavings of two that were deleted. */
interface Template {
  folder: string
  source: string
  snapshots: readonly string[]
  /** How long each act takes when nobody kills it. */
  usualMs: Map<KillableAct, number>
}

/** Runs the worker, killed after `killAfterMs` of its work. How long the work took, or undefined when it was killed. */
async function work(
  folder: string,
  act: KillableAct,
  options: { source: string; killAfterMs?: number },
): Promise<number | undefined> {
  const child = spawn(process.execPath, [worker, folder, password, act, options.source], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  await Promise.race([once(child.stdout, 'data'), exited])
  const began = performance.now()
  if (options.killAfterMs !== undefined) {
    await sleep(options.killAfterMs)
    child.kill('SIGKILL')
  }
  const [code] = await exited
  if (options.killAfterMs === undefined || code !== null) assert.equal(code, 0, `${act} failed`)
  return code === 0 ? performance.now() - began : undefined
}

async function makeTemplate(scratch: string): Promise<Template> {
  const folder = path.join(scratch, 'template')
  const source = path.join(scratch, 'source')
  await mkdir(source)
  await writeSourceTree(source, 1)
  await using repository = await newRepository(folder, password)
  for (let n = 0; n < 4; n += 1) {
    await appendFile(path.join(source, 'nested', 'random'), `changed ${n}`.repeat(3000))
    await killableActs.upload(repository, source)
    if (n === 2) await killableActs.delete(repository, source)
  }
  const usualMs = new Map<KillableAct, number>()
  for (const act of Object.keys(killableActs) as KillableAct[]) {
    const copy = path.join(scratch, `usual-${act}`)
    await cp(folder, copy, { recursive: true })
    usualMs.set(act, (await work(copy, act, { source })) ?? 0)
  }
  return { folder, source, snapshots: await completeSnapshots(repository), usualMs }
}

describe('A repository whose writer is killed', { skip: await kopiaSkip() }, () => {
  let scratch = ''
  let template: Template
  before(async () => {
    scratch = await mkdtemp(path.join(tmpdir(), 'lateen-kill-'))
    template = await makeTemplate(scratch)
  })
  after(() => rm(scratch, { recursive: true, force: true }))

  const acts = Object.keys(killableActs) as KillableAct[]
  for (const seed of rotatingSeeds({
    name: 'killed-repository',
    count: 10,
    soakCount: 1000,
    consecutive: true,
  })) {
    const act = acts[seed % acts.length] as KillableAct
    it(`keeps every complete snapshot and takes the next, killed during ${act} (seed ${seed})`, async t => {
      announceSeed(t, seed)
      const { source, usualMs } = template
      const folder = path.join(scratch, `repository-${seed}`)
      await cp(template.folder, folder, { recursive: true })
      t.after(() => rm(folder, { recursive: true }))
      await appendFile(path.join(source, 'nested', 'text'), `changed ${seed}`)
      await work(folder, act, { source, killAfterMs: seededRandom(seed).next() * (usualMs.get(act) ?? 0) })
      const kopia = await kopiaRepository(t, {
        storage: { path: folder },
        connect: true,
        password,
        ...clientOf,
      })
      await kopia.verify()

      await using repository = await openFolder(folder, password)
      const found = await completeSnapshots(repository)
      // The act that deletes leaves the newest one alone.
      for (const id of template.snapshots.slice(act === 'delete' ? -1 : 0)) assert.ok(found.includes(id), id)
      await killableActs.upload(repository, source)
      await killableActs.maintain(repository, source)
      await kopia.verify()
    })
  }
})
