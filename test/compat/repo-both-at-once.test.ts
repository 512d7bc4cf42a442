import assert from 'node:assert/strict'
import { appendFile, mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { runCommand } from '../../tools/binaries/run-command.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { announceSeed, rotatingSeeds } from '../../tools/test/seeds.ts'
import { type KopiaRepository, type KopiaStorage, kopiaRepository, kopiaSkip } from './kopia.ts'
import { listFolder, writeSourceTree } from './source-tree.ts'

const launcher = path.join(import.meta.dirname, '../../packages/cli/bin/lateen-repo.js')
const given = await givenCluster({ s3: true })
const noKopia = await kopiaSkip()

interface ListedSnapshot {
  id: string
  startTime: string
  source: { path: string }
}

function urlOf(storage: KopiaStorage): string {
  return 'path' in storage ? `file://${storage.path}` : `s3://${storage.bucket}/${storage.prefix}`
}

function environmentOf({ storage, password }: KopiaRepository): NodeJS.ProcessEnv {
  const env = { ...process.env, REPOSITORY_PASSWORD: password }
  if ('path' in storage) return env
  return {
    ...env,
    AWS_ENDPOINT_URL: storage.endpoint,
    AWS_REGION: storage.region,
    AWS_ACCESS_KEY_ID: storage.accessKeyId,
    AWS_SECRET_ACCESS_KEY: storage.secretAccessKey,
  }
}

async function takeTurns(t: TestContext, options: { storage?: KopiaStorage; seed: number }): Promise<void> {
  const { seed, ...where } = options
  announceSeed(t, seed)
  const repository = await kopiaRepository(t, where)
  const env = environmentOf(repository)
  const common = ['--repo', urlOf(repository.storage), '--password-env', 'REPOSITORY_PASSWORD', '--quiet']
  const ours = (...args: string[]) => runCommand(process.execPath, [launcher, ...args, ...common], { env })
  const sources = await Promise.all(
    ['first', 'second'].map(async (name, index) => {
      const folder = path.join(repository.scratch, name)
      await mkdir(folder)
      await writeSourceTree(folder, seed + index)
      return folder
    }),
  )
  const [first = '', second = ''] = sources
  for (let round = 0; round < 2; round += 1) {
    await Promise.all([ours('snapshot', first), repository.snapshot(second)])
    await Promise.all([ours('snapshot', second), repository.snapshot(first)])
    for (const source of sources) {
      await appendFile(path.join(source, 'nested', 'text'), `round ${round}`)
      await writeFile(path.join(source, `round-${round}`), `${round}`)
    }
  }
  await repository.verify()
  await ours('verify')
  await Promise.all([ours('snapshot', first), repository.snapshot(second)])
  const listed = await repository.json<ListedSnapshot[]>(['snapshot', 'list', '--all'])
  const byTime = listed.toSorted((a, b) => (a.startTime < b.startTime ? -1 : 1))
  for (const source of sources) {
    const last = byTime.findLast(snapshot => snapshot.source.path === source)
    assert.deepEqual(await listFolder(await repository.restore(last?.id ?? '')), await listFolder(source))
    const target = path.join(repository.scratch, `ours-${path.basename(source)}`)
    await ours('restore', last?.id ?? '', target)
    assert.deepEqual(await listFolder(target), await listFolder(source))
  }
}

describe('kopia and Lateen on one repository at the same time', { skip: noKopia }, () => {
  for (const seed of rotatingSeeds({ name: 'both-at-once', count: 1, soakCount: 20 })) {
    it(`both verify and restore what both wrote, in a folder (seed ${seed})`, t => takeTurns(t, { seed }))

    it(`both verify and restore what both wrote, on S3 (seed ${seed})`, { skip: given.skip }, t =>
      takeTurns(t, {
        seed,
        storage: { ...given.cluster.s3, prefix: `both-at-once-${process.pid}-${seed}/` },
      }),
    )
  }
})
