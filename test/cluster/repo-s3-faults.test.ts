/** The whole engine over the real S3 client, with a proxy before the server that resets, cuts, stalls and throttles. */
import assert from 'node:assert/strict'
import { appendFile, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'
import { openS3Storage, type S3StorageOptions } from '../../packages/repo/src/blob/s3.ts'
import type { BlobStorage } from '../../packages/repo/src/blob/storage.ts'
import { retried, retrying } from '../../packages/repo/src/blob/wrap/retrying.ts'
import { isRepoError } from '../../packages/repo/src/errors/repo-error.ts'
import { runMaintenance } from '../../packages/repo/src/maintenance/run.ts'
import { safetyNone } from '../../packages/repo/src/maintenance/safety.ts'
import { verifyRepository } from '../../packages/repo/src/maintenance/verify.ts'
import { createRepository, openRepository, type Repository } from '../../packages/repo/src/repository.ts'
import { deleteSnapshots } from '../../packages/repo/src/snapshot/delete-snapshots.ts'
import { findSnapshot } from '../../packages/repo/src/snapshot/list-snapshots.ts'
import { restoreTree } from '../../packages/repo/src/snapshot/restore-tree.ts'
import { uploadTree } from '../../packages/repo/src/snapshot/upload-tree.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { announceSeed, rotatingSeeds, type SeededRandom, seededRandom } from '../../tools/test/seeds.ts'
import { listFolder, writeSourceTree } from '../compat/source-tree.ts'
import { type MisbehavingProxy, misbehaviours, startMisbehavingProxy } from './misbehaving-proxy.ts'

const given = await givenCluster({ s3: true })
const password = 'static-passw0rd'
const identity = 'default@default'
const source = { host: 'testhost', userName: 'tester', path: '/data' }
const impatient = { firstDelayMs: 5, maxDelayMs: 50 }

function placeAt(endpoint: string, prefix: string): S3StorageOptions {
  const { region, bucket, accessKeyId, secretAccessKey } = given.cluster.s3
  const timeouts = { connectMs: 2000, idleMs: 2000 }
  return { endpoint, region, bucket, prefix, timeouts, credentials: { accessKeyId, secretAccessKey } }
}

async function openPatiently(options: S3StorageOptions): Promise<BlobStorage> {
  return retrying(await retried(() => openS3Storage(options), impatient, undefined), impatient)
}

async function upload(repository: Repository, folder: string): Promise<string> {
  const { snapshot } = await repository.writing({}, writer => uploadTree(writer, folder, { source }))
  await repository.refresh()
  return snapshot.id
}

/** A life of a repository, in which everything is done that an engine can do. Returns the snapshot that is left. */
async function liveThrough(repository: Repository, folder: string): Promise<string> {
  const first = await upload(repository, folder)
  await appendFile(path.join(folder, 'nested', 'random'), 'changed')
  const second = await upload(repository, folder)
  await repository.writing({}, ({ manifests }) => deleteSnapshots(manifests, [first]))
  await repository.refresh()
  await runMaintenance(repository, { identity, mode: 'full', safety: safetyNone })
  await runMaintenance(repository, { identity, mode: 'quick', safety: safetyNone })
  const { found } = await verifyRepository(repository, { contents: 'all' })
  assert.deepEqual(found, [])
  await restore(repository, second, folder)
  return second
}

async function restore(repository: Repository, id: string, folder: string): Promise<void> {
  const { rootEntry } = await findSnapshot(repository.manifests, id)
  const target = await mkdtemp(path.join(folder, '..', 'restored-'))
  const { problems } = await restoreTree({ contents: repository.contents, entry: rootEntry, target })
  assert.deepEqual(problems, [])
  assert.deepEqual(await listFolder(target), await listFolder(folder))
}

/** Stalls are few: each takes as long as the client's patience. */
function proxyOf(random: SeededRandom, rate: () => number): Promise<MisbehavingProxy> {
  const quick = misbehaviours.filter(what => what !== 'stall')
  return startMisbehavingProxy(given.cluster.s3.endpoint, () => {
    if (!random.chance(rate())) return undefined
    return random.chance(0.05) ? 'stall' : random.pick(quick)
  })
}

describe('a repository behind a network that fails', { skip: given.skip }, () => {
  for (const seed of rotatingSeeds({ name: 's3-faults', count: 1, soakCount: 100 })) {
    it(`does all that it is asked for when it may try again, and loses nothing when it may not (seed ${seed})`, async t => {
      announceSeed(t, seed)
      const scratch = await mkdtemp(path.join(tmpdir(), 'lateen-s3-faults-'))
      t.after(() => rm(scratch, { recursive: true, force: true }))
      const folder = path.join(scratch, 'source')
      await mkdir(folder)
      await writeSourceTree(folder, seed)
      let rate = 0.2
      await using proxy = await proxyOf(seededRandom(seed), () => rate)
      const place = placeAt(proxy.endpoint, `s3-faults-${seed}-${process.pid}/`)

      await using patient = await createRepository({ storage: await openPatiently(place), password })
      const kept = await liveThrough(patient, folder)

      rate = 0.03
      const impatience = async () => {
        await using bare = await openRepository({ storage: await openS3Storage(place), password })
        return liveThrough(bare, folder)
      }
      const end = await impatience().catch(error => {
        assert.ok(isRepoError(error, 'STORAGE_FAILED') && error.retryable, String(error))
        return error.message
      })
      t.diagnostic(`${end}; ${[...proxy.happened].map(([what, count]) => `${what} ${count}`).join(', ')}`)

      rate = 0
      // A busy machine may be slower than the little patience of a single request.
      await using fresh = await openRepository({
        storage: await openPatiently(place),
        password,
        rehash: true,
      })
      const { found } = await verifyRepository(fresh, { contents: 'all' })
      assert.deepEqual(found, [])
      assert.equal((await findSnapshot(fresh.manifests, kept)).incomplete, undefined)
      await restore(fresh, await upload(fresh, folder), folder)
      for await (const { id } of fresh.storage.list('')) await fresh.storage.delete(id)
    })
  }
})
