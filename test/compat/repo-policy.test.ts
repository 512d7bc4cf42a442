import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { openFilesystemStorage } from '../../packages/repo/src/blob/filesystem.ts'
import { objectId } from '../../packages/repo/src/object/object-id.ts'
import { openRepository, type Repository } from '../../packages/repo/src/repository.ts'
import { listSnapshots } from '../../packages/repo/src/snapshot/list-snapshots.ts'
import { emptyPolicy, policyLabels, policyPayload } from '../../packages/repo/src/snapshot/policy.ts'
import { loadEffectivePolicy } from '../../packages/repo/src/snapshot/policy-tree.ts'
import { expiredSnapshots, retentionReasons } from '../../packages/repo/src/snapshot/retention.ts'
import { saveSnapshot } from '../../packages/repo/src/snapshot/save-snapshot.ts'
import { emptyStats } from '../../packages/repo/src/snapshot/snapshot-manifest.ts'
import { seededRandom } from '../../tools/test/seeded-random.ts'
import { rotatingSeeds } from '../../tools/test/seeds.ts'
import { type KopiaRepository, kopiaRepository, kopiaSkip } from './kopia.ts'

const skip = await kopiaSkip()
const [seed = 1] = rotatingSeeds({ name: 'retention', count: 1, soakCount: 5 })

const cleanUps: (() => Promise<void>)[] = []
const scope = { after: (cleanUp: () => Promise<void>) => void cleanUps.push(cleanUp) }
after(async () => {
  for (const cleanUp of cleanUps) await cleanUp()
})

async function open({ path, password }: KopiaRepository): Promise<Repository> {
  return openRepository({ storage: await openFilesystemStorage({ path }), password })
}

const source = { host: 'testhost', userName: 'tester', path: '/data/volume' }

describe('policies', { skip, concurrency: 2 }, () => {
  it('that kopia stored for a path, its parent, user, host and all are merged as kopia merges them', async () => {
    const kopia = await kopiaRepository(scope)
    const set = (target: string, ...flags: string[]) => kopia.kopia(['policy', 'set', target, ...flags])
    await set(
      '--global',
      '--keep-latest=50',
      '--add-ignore=*.global',
      '--add-never-compress=.gz',
      '--compression=zstd',
    )
    await set('@testhost', '--keep-daily=31', '--ignore-file-errors=true', '--add-never-compress=.jpg')
    await set('tester@testhost', '--keep-weekly=0', '--max-file-size=1000000')
    await set('/data', '--add-ignore=*.data', '--one-file-system=true', '--keep-annual=9')
    await set('/data/volume', '--keep-latest=3', '--add-never-compress=.zip', '--max-parallel-file-reads=5')
    await using repository = await open(kopia)
    for (const path of ['/data/volume', '/data/other', '/else', '/']) {
      const shown = await kopia.json<Record<string, object>>(['policy', 'show', path])
      const ours: object = await loadEffectivePolicy(repository.manifests, { ...source, path })
      for (const section of [
        'retention',
        'files',
        'errorHandling',
        'scheduling',
        'compression',
        'upload',
      ] as const)
        assert.deepEqual(
          Object.entries(ours).find(([name]) => name === section)?.[1],
          shown[section],
          `${path} ${section}`,
        )
    }
  })

  it('that we store are shown by kopia', async () => {
    const kopia = await kopiaRepository(scope)
    await using repository = await open(kopia)
    const policy = { ...emptyPolicy(), retention: { keepLatest: 2147483647 }, scheduling: { manual: true } }
    policy.upload = { maxParallelFileReads: 4, parallelUploadAboveSize: 9223372036854775807n }
    await repository.writing({}, ({ manifests }) =>
      manifests.replace(policyLabels(source), policyPayload(policy)),
    )
    const printed = await kopia.kopia(['policy', 'show', `tester@testhost:${source.path}`, '--json'])
    assert.match(printed, /"keepLatest": ?2147483647/)
    assert.match(printed, /"parallelUploadAboveSize": ?9223372036854775807/)
    assert.match(printed, /"manual": ?true/)
  })

  it('keep and expire the same snapshots for the same reasons as kopia', async () => {
    const kopia = await kopiaRepository(scope)
    const random = seededRandom(seed)
    const keep = ['latest=3', 'hourly=4', 'daily=5', 'weekly=4', 'monthly=6', 'annual=2']
    await kopia.kopia(['policy', 'set', '--global', ...keep.map(count => `--keep-${count}`)])
    await using repository = await open(kopia)
    const newest = Date.UTC(2026, random.integer(0, 11), random.integer(1, 28), random.integer(0, 23))
    const rootEntry = await repository.writing({}, async ({ objects }) => ({
      name: 'volume',
      type: 'd' as const,
      mode: 0o755,
      size: 0,
      mtime: 0n,
      uid: 0,
      gid: 0,
      obj: objectId(
        await objects.put(Buffer.from('{"stream":"kopia:directory","entries":null}\n'), { prefix: 'k' }),
      ),
    }))
    // Dense near the end and thin towards the start, over about four years.
    const ages = Array.from({ length: 150 }, (_, index) => Math.floor(1.16 ** index * 200_000))
      .map(age => age + random.integer(0, 100_000))
      .filter(age => age < 4 * 366 * 86_400_000)
    await repository.writing({}, async ({ manifests }) => {
      for (const [index, age] of ages.entries()) {
        const startTime = BigInt(newest - age) * 1_000_000n
        const isIncomplete = index < 2 || random.integer(0, 9) === 0
        await saveSnapshot(manifests, {
          ...{ id: '', source, description: '', startTime, endTime: startTime, stats: emptyStats() },
          ...{ rootEntry, tags: {}, pins: random.integer(0, 19) === 0 ? ['pinned'] : [] },
          ...(isIncomplete && { incomplete: 'checkpoint' }),
        })
      }
    })
    await repository.refresh()
    const { snapshots } = await listSnapshots(repository.manifests)
    const { retention } = await loadEffectivePolicy(repository.manifests, source)
    const ours = retentionReasons(retention, snapshots)
    const listed = await kopia.json<{ id: string; retentionReason?: string[] }[]>([
      ...['snapshot', 'list', '--all', '--incomplete', '--max-results=1000', '--show-identical'],
    ])
    assert.equal(listed.length, snapshots.length)
    assert.ok(snapshots.length > 60)
    for (const { id, retentionReason = [] } of listed)
      assert.deepEqual(ours.get(id) ?? [], retentionReason, id)
    const expired = new Set(expiredSnapshots(retention, snapshots))
    await kopia.kopia(['snapshot', 'expire', '--all', '--delete'])
    const left = await kopia.json<{ id: string }[]>([
      'snapshot',
      'list',
      '--all',
      '--incomplete',
      '--max-results=1000',
      '--show-identical',
    ])
    assert.deepEqual(
      new Set(left.map(({ id }) => id)),
      new Set(snapshots.map(({ id }) => id).filter(id => !expired.has(id))),
    )
    assert.ok(expired.size > 10)
  })
})
