import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdir } from 'node:fs/promises'
import path from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { announceSeed, rotatingSeeds, seededRandom } from '../../tools/test/seeds.ts'
import { type KopiaRepository, kopiaRepository, kopiaSkip } from './kopia.ts'
import { listFolder, writeSourceTree } from './source-tree.ts'

const worker = path.join(import.meta.dirname, 'repo-kill-worker.ts')
const actions = ['upload', 'delete', 'maintain'] as const
type Action = (typeof actions)[number]

/** Runs the worker; killed after `killAfterMs` of its work. Returns how long the work took, or undefined when killed. */
async function work(
  repository: KopiaRepository,
  action: Action,
  options: { source: string; killAfterMs?: number },
) {
  const { path: folder, password } = repository
  const child = spawn(process.execPath, [worker, folder, password, action, options.source], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  await once(child.stdout, 'data')
  const began = performance.now()
  if (options.killAfterMs !== undefined) {
    await sleep(options.killAfterMs)
    child.kill('SIGKILL')
  }
  const [code] = await exited
  if (options.killAfterMs === undefined) assert.equal(code, 0, `${action} failed`)
  return code === 0 ? performance.now() - began : undefined
}

describe('A repository whose writer is killed', { skip: await kopiaSkip() }, () => {
  for (const seed of rotatingSeeds({ name: 'killed-repository', count: 8, soakCount: 1000 })) {
    const random = seededRandom(seed)
    const action = random.pick(actions)
    it(`keeps every complete snapshot and takes the next, killed during ${action} (seed ${seed})`, async t => {
      announceSeed(t, seed)
      const repository = await kopiaRepository(t)
      const source = path.join(repository.scratch, 'source')
      await mkdir(source)
      await writeSourceTree(source, seed)
      await work(repository, 'upload', { source })
      await appendFile(path.join(source, 'nested', 'text'), 'changed')
      const usualMs = await work(repository, 'upload', { source })
      await appendFile(path.join(source, 'nested', 'random'), 'changed')
      await work(repository, action, { source, killAfterMs: random.next() * (usualMs ?? 300) })
      await repository.verify()

      await work(repository, 'upload', { source })
      await repository.verify()
      const ids = (await repository.json<{ id: string }[]>(['snapshot', 'list', '--all'])).map(({ id }) => id)
      assert.deepEqual(await listFolder(await repository.restore(ids.at(-1) ?? '')), await listFolder(source))
    })
  }
})
