import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup, Restore } from '@lateen/api'
import { bucketLayout } from '../backup-store/bucket-layout.ts'
import { bucketFolders } from './bucket-folders.ts'
import { unclaimedOfBackup, unclaimedOfRestore } from './unclaimed.ts'

const layout = bucketLayout('some/prefix')

async function* listed(keys: readonly string[]): AsyncGenerator<string> {
  yield* [...keys].sort((a, b) => (a < b ? -1 : 1))
}

async function unclaimed(
  of: 'backups' | 'restores',
  keys: readonly string[],
  cluster: { backups?: Record<string, string>; restores?: Record<string, string> } = {},
) {
  const view = {
    backup: (name: string) => phased<Backup>(cluster.backups?.[name]),
    restore: (name: string) => phased<Restore>(cluster.restores?.[name]),
  }
  const found = []
  const full = keys.map(key => `${layout.folder(of)}${key}`)
  for await (const folder of bucketFolders(listed(full), layout, of)) {
    if ('stray' in folder) found.push(`stray ${folder.stray}`)
    else {
      const things = of === 'backups' ? unclaimedOfBackup(folder, view) : unclaimedOfRestore(folder, view)
      found.push(...things.map(({ type, key, keys: count }) => `${type} ${key} ${count}`))
    }
  }
  return found
}

function phased<T>(phase: string | undefined): T | undefined {
  return phase === undefined ? undefined : ({ status: { phase } } as T)
}

describe('what nothing refers to in a bucket', () => {
  it('is a folder of a backup that was not finished and is not in the cluster', async () => {
    const keys = ['a/velero-backup.json', 'a/a.tar.gz', 'b/b-logs.gz', 'b/b.tar.gz', 'c/c.tar.gz']
    assert.deepEqual(await unclaimed('backups', keys, { backups: { c: 'InProgress' } }), [
      'unfinished-backup some/prefix/backups/b/ 2',
    ])
    assert.deepEqual(await unclaimed('backups', keys, { backups: { b: 'Failed', c: 'Deleting' } }), [])
  })

  it('a backup whose deletion stopped half-way elsewhere looked whole', async () => {
    const keys = ['a/a.tar.gz', 'b/b.tar.gz', 'c/c.tar.gz', 'c/velero-backup.json', 'd/d.tar.gz']
    const backups = { a: 'Completed', b: 'PartiallyFailed', c: 'Completed', d: 'Finalizing' }
    assert.deepEqual(await unclaimed('backups', keys, { backups }), [
      'half-deleted-backup some/prefix/backups/a/ 1',
      'half-deleted-backup some/prefix/backups/b/ 1',
    ])
  })

  it('is not confused by names that begin alike', async () => {
    const keys = ['a/velero-backup.json', 'a-b/velero-backup.json', 'a.b/x', 'a/a.tar.gz', 'a-b/a-b.tar.gz']
    assert.deepEqual(await unclaimed('backups', keys), ['unfinished-backup some/prefix/backups/a.b/ 1'])
    // A file of that name elsewhere is not the one that counts.
    assert.deepEqual(await unclaimed('backups', ['x/deep/velero-backup.json']), [
      'unfinished-backup some/prefix/backups/x/ 1',
    ])
  })

  it('is a journal whose backup or restore has ended', async () => {
    const keys = [
      'a/velero-backup.json',
      'a/lateen-operations/backup/00000001.json',
      'a/lateen-operations/backup/00000002.json',
      'a/lateen-operations/restores/r/00000001.json',
      'a/lateen-operations/restores/s/00000001.json',
    ]
    const backup = 'journal some/prefix/backups/a/lateen-operations/backup/ 2'
    const [r, s] = ['r', 's'].map(
      name => `journal some/prefix/backups/a/lateen-operations/restores/${name}/ 1`,
    )
    assert.deepEqual(await unclaimed('backups', keys), [backup, r, s])
    const backups = { a: 'WaitingForPluginOperations' }
    const restores = { r: 'WaitingForPluginOperations', s: 'Completed' }
    assert.deepEqual(await unclaimed('backups', keys, { backups, restores }), [s])
    assert.deepEqual(await unclaimed('backups', keys, { backups: { a: 'Completed' }, restores }), [backup, s])
  })

  it('is the files of a restore that does not exist', async () => {
    const keys = ['r/restore-r-logs.gz', 'r/restore-r-results.gz', 's/restore-s-logs.gz']
    assert.deepEqual(await unclaimed('restores', keys, { restores: { s: 'Completed' } }), [
      'restore-files some/prefix/restores/r/ 2',
    ])
  })

  it('is a key beside the folders', async () => {
    assert.deepEqual(await unclaimed('backups', ['README', 'a/velero-backup.json']), [
      'stray some/prefix/backups/README',
    ])
    assert.deepEqual(await unclaimed('backups', []), [])
  })
})
