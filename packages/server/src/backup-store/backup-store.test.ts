import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { describe, it, type TestContext } from 'node:test'
import type { Backup } from '@lateen/api'
import { isObjectStoreError, type ObjectStore, ObjectStoreError } from '@lateen/plugin'
import { FilesystemStore } from '../object-store/filesystem.ts'
import { createSignedDownloads } from '../object-store/signed-downloads.ts'
import { createBackupStore, type StoredFile } from './backup-store.ts'
import { bucketLayout } from './bucket-layout.ts'

const clock = { now: () => 0, sleep: async () => undefined }

async function givenStore(t: TestContext, wrap: (store: ObjectStore) => ObjectStore = store => store) {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-backup-store-'))
  t.after(() => rm(folder, { recursive: true }))
  await mkdir(path.join(folder, 'bucket'))
  const names = Array.from({ length: 100 }, (_, number) => `unfinished-${number}`)
  const publicUrl = () => 'http://unused.invalid'
  const downloads = createSignedDownloads({ signingKey: Buffer.alloc(32), clock, publicUrl })
  const files = new FilesystemStore({ clock, randomName: () => names.pop() ?? '', downloads })
  await files.init({ config: { path: folder, bucket: 'bucket', prefix: '' } })
  const store = wrap(files)
  const location = {
    store,
    bucket: 'bucket',
    layout: bucketLayout('team'),
    accessMode: 'ReadWrite' as const,
    [Symbol.asyncDispose]: async () => undefined,
  }
  const backups = createBackupStore({ location, clock, random: () => 0.5 })
  return { backups, bucket: path.join(folder, 'bucket') }
}

const file = (name: string, file: 'contents' | 'results' = 'results'): StoredFile => ({
  of: 'backup',
  name,
  file,
})

const backup = (name: string): Backup => ({
  apiVersion: 'velero.io/v1',
  kind: 'Backup',
  metadata: { name, namespace: 'velero' },
  spec: {},
  status: { phase: 'Completed' },
})

/** A store that fails some calls before it passes them on. */
function failing(
  call: 'putObject' | 'listObjects',
  failures: ObjectStoreError[],
): (store: ObjectStore) => ObjectStore {
  return store =>
    new Proxy(store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name)
        if (typeof member !== 'function') return member
        return (...args: unknown[]) => {
          const failure = name === call ? failures.shift() : undefined
          if (failure === undefined) return member.apply(target, args)
          return call === 'putObject' ? Promise.reject(failure) : brokenList(failure)
        }
      },
    })
}

function brokenList(failure: ObjectStoreError): AsyncIterable<string> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(failure) }) }
}

const failingPuts = (failures: ObjectStoreError[]) => failing('putObject', failures)

const fault = () => new ObjectStoreError('STORE_FAULT', { reason: 'the store answers 503' })

describe('A backup store', () => {
  it('keeps JSON compressed, under the name that Velero uses', async t => {
    const { backups, bucket } = await givenStore(t)
    await backups.putJson(file('nightly'), { errors: {} })
    assert.deepEqual(await backups.getJson(file('nightly')), { errors: {} })
    const bytes = await readFile(path.join(bucket, 'team/backups/nightly/nightly-results.gz'))
    assert.deepEqual([...bytes.subarray(0, 2)], [0x1f, 0x8b])
  })

  it('says that a file is not there', async t => {
    const { backups } = await givenStore(t)
    assert.equal(await backups.get(file('nightly')), undefined)
    assert.equal(await backups.getJson(file('nightly')), undefined)
    assert.equal(await backups.getMetadata('nightly'), undefined)
  })

  it('stores the metadata as it is and reads it back', async t => {
    const { backups, bucket } = await givenStore(t)
    await backups.putMetadata(backup('nightly'))
    assert.equal((await backups.getMetadata('nightly'))?.status?.phase, 'Completed')
    const text = await readFile(path.join(bucket, 'team/backups/nightly/velero-backup.json'), 'utf8')
    assert.deepEqual(JSON.parse(text), backup('nightly'))
  })

  it('takes any file under a name for a sign that the name is in use', async t => {
    const { backups } = await givenStore(t)
    await backups.putJson(file('half'), {})
    assert.deepEqual(
      [await backups.hasAny('half'), await backups.hasAny('hal'), await backups.hasAny('other')],
      [true, false, false],
    )
    assert.deepEqual(await Array.fromAsync(backups.names()), ['half'])
  })

  it('tells what of a name is not the one who asks', async t => {
    const { backups } = await givenStore(t)
    const mine = { name: 'nightly', uid: 'mine' }
    const beside = async () => [
      await backups.hasBeside(mine, 'anything'),
      await backups.hasBeside(mine, 'claims'),
    ]
    await backups.putClaim(mine)
    assert.deepEqual(await beside(), [false, false])
    await backups.putMetadata(backup('nightly'))
    assert.deepEqual(await beside(), [true, false])
    await backups.putClaim({ name: 'nightly', uid: 'other' })
    assert.deepEqual(await beside(), [true, true])
    await backups.deleteBackup('nightly')
    assert.deepEqual(await beside(), [false, false])
  })

  it('found every name taken where a store lists folders as if they were keys, and keeps those of claims', async t => {
    const folders = new Set<string>()
    const withFolders = (store: ObjectStore): ObjectStore =>
      new Proxy(store, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name)
          if (name !== 'listObjects') return typeof member === 'function' ? member.bind(target) : member
          return async function* (request: Parameters<ObjectStore['listObjects']>[0]) {
            for await (const key of target.listObjects(request)) {
              folders.add(path.dirname(key))
              yield key
            }
            yield* folders
          }
        },
      })
    const { backups } = await givenStore(t, withFolders)
    const mine = { name: 'nightly', uid: 'mine' }
    await backups.putClaim(mine)
    assert.equal(await backups.hasBeside(mine, 'anything'), false)
    await backups.deleteClaim(mine)
    assert.deepEqual([...folders], ['team/backups/nightly/lateen-claims'])
    assert.equal(await backups.hasBeside({ ...mine, uid: 'next' }, 'anything'), false)
    await backups.putJson(file('nightly'), {})
    assert.equal(await backups.hasBeside(mine, 'anything'), true)
  })

  it('could not delete folders before what is in them, where a store lists them as keys', async t => {
    const deleted: string[] = []
    const folders = ['lateen-operations', 'lateen-operations/backup'].map(
      name => `team/backups/nightly/${name}`,
    )
    const withFolders = (store: ObjectStore): ObjectStore =>
      new Proxy(store, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name)
          if (name === 'deleteObject') return async ({ key }: { key: string }) => void deleted.push(key)
          if (name !== 'listObjects') return typeof member === 'function' ? member.bind(target) : member
          return async function* () {
            yield* [...folders, `${folders[1]}/1.json`, 'team/backups/nightly/nightly.tar.gz']
          }
        },
      })
    const { backups } = await givenStore(t, withFolders)
    await backups.deleteBackup('nightly')
    assert.equal(deleted[0], 'team/backups/nightly/velero-backup.json')
    assert.deepEqual(
      deleted.filter(key => key.includes('lateen-operations')),
      [`${folders[1]}/1.json`, folders[1], folders[0]],
    )
  })

  it('asks again whether a name is free when the store has failed to say so', async t => {
    const faults = () => failing('listObjects', Array.from({ length: 4 }, fault))
    const { backups } = await givenStore(t, faults())
    assert.equal(await backups.hasAny('free'), false)
    const other = await givenStore(t, faults())
    await other.backups.putJson(file('half'), {})
    assert.equal(await other.backups.hasAny('half'), true)
    const denied = new ObjectStoreError('ACCESS_DENIED', { reason: 'no' })
    const closed = await givenStore(t, failing('listObjects', [denied]))
    await assert.rejects(closed.backups.hasAny('half'), denied)
  })

  it('deletes all files of a backup and none of its neighbours', async t => {
    const { backups } = await givenStore(t)
    for (const name of ['a', 'ab']) {
      await backups.putJson(file(name), {})
      await backups.putMetadata(backup(name))
    }
    await backups.deleteBackup('a')
    assert.deepEqual(await Array.fromAsync(backups.names()), ['ab'])
    await backups.deleteBackup('a')
  })

  it('opens the body again for every attempt', async t => {
    const { backups } = await givenStore(t, failingPuts([fault(), fault()]))
    let opened = 0
    await backups.put(file('nightly', 'contents'), async () => {
      opened += 1
      return (async function* () {
        yield Buffer.from('abc')
      })()
    })
    assert.equal(opened, 3)
    const stored = await backups.get(file('nightly', 'contents'))
    assert.equal(stored && (await buffer(stored)).toString(), 'abc')
  })

  it('gives up after five attempts, and at once where another one cannot help', async t => {
    const { backups } = await givenStore(t, failingPuts(Array.from({ length: 5 }, fault)))
    await assert.rejects(backups.putJson(file('x'), {}), error => isObjectStoreError(error, 'STORE_FAULT'))
    const denied = new ObjectStoreError('ACCESS_DENIED', { reason: 'no' })
    const other = await givenStore(t, failingPuts([denied]))
    await assert.rejects(other.backups.putJson(file('x'), {}), denied)
  })

  it('names the file that is damaged, and why', async t => {
    const { backups, bucket } = await givenStore(t)
    await mkdir(path.join(bucket, 'team/backups/x'), { recursive: true })
    await writeFile(path.join(bucket, 'team/backups/x/x-results.gz'), 'not gzip')
    await writeFile(path.join(bucket, 'team/backups/x/velero-backup.json'), '{"kind":"Pod"}')
    await assert.rejects(backups.getJson(file('x')), /x-results\.gz cannot be decompressed/)
    await assert.rejects(backups.getMetadata('x'), /velero-backup\.json is not a backup: apiVersion must be/)
  })

  it('stops with the reason of its signal', async t => {
    const { backups } = await givenStore(t)
    const reason = new Error('enough')
    await assert.rejects(backups.putJson(file('x'), {}, AbortSignal.abort(reason)), reason)
  })
})
