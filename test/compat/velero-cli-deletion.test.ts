import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { BackupStorageLocationKind } from '@lateen/api'
import { createKubeClient, type KubeClient, loadKubeConfig } from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { startVeleroServer, type VeleroServer } from '../../tools/velero/velero-server.ts'
import { BackupBucket } from '../cluster/backup-bucket.ts'
import { createLocation } from '../cluster/backups.ts'
import { prepareCluster } from '../cluster/storage-location-harness.ts'
import { bothPrograms, type Program } from './both-programs.ts'

const given = await givenCluster({ s3: true })
const both = await bothPrograms(given)
const { skip, folder } = both
const mark = randomBytes(3).toString('hex')

/** Names of the objects of a kind in a namespace. */
async function names(kind: string, namespace: string): Promise<string[]> {
  const args = ['get', `${kind}.velero.io`, '-n', namespace, '-o', 'jsonpath={.items[*].metadata.name}']
  return (await given.cluster.kubectl(args)).split(' ').filter(name => name !== '')
}

async function untilGone(backup: string, namespace: string): Promise<void> {
  await waitUntil(async () => !(await names('backups', namespace)).includes(backup), {
    timeoutMs: 120_000,
    failure: async () =>
      new Error(
        await given.cluster.kubectl(['get', 'deletebackuprequests.velero.io', '-n', namespace, '-o', 'yaml']),
      ),
  })
  await waitUntil(async () => (await names('deletebackuprequests', namespace)).length === 0, {
    timeoutMs: 60_000,
    failure: () => new Error('the request stays'),
  })
}

describe('backups of our server', { skip, concurrency: false }, () => {
  const namespace = `velero-cli-deletion-${mark}`
  let server: AsyncDisposable | undefined
  const at = (program: Program, ...args: string[]) => both.run(program, ['-n', namespace, ...args])

  before(async () => {
    await both.run('lateen', ['install', '--crds-only'])
    server = await both.startPlace(namespace)
  })
  after(async () => {
    await server?.[Symbol.asyncDispose]()
    await given.cluster.kubectl(['delete', 'namespace', namespace, '--wait=false'])
  })

  const files = async () => {
    const found = await readdir(path.join(folder, namespace), { recursive: true, withFileTypes: true })
    return found.filter(entry => entry.isFile()).map(({ name }) => name)
  }

  it('are deleted by velero, with their restores', async () => {
    await at('lateen', 'backup', 'create', 'one', '--include-namespaces=default', '--wait')
    const mapping = `--namespace-mappings=default:${namespace}-restored`
    await at('lateen', 'restore', 'create', 'from-one', '--from-backup=one', mapping, '--wait')
    const said = await at('velero', 'backup', 'delete', 'one', '--confirm')
    assert.match(said, /^Request to delete backup "one" submitted successfully\.\n/)
    await untilGone('one', namespace)
    assert.deepEqual([await names('restores', namespace), await files()], [[], []])
    await given.cluster.kubectl(['delete', 'namespace', `${namespace}-restored`, '--wait=false'])
  })

  it('are deleted by lateen, which waits for that', async () => {
    for (const name of ['two', 'three']) {
      await at('lateen', 'backup', 'create', name, '--include-namespaces=default', '--wait')
    }
    const said = await at('lateen', 'backup', 'delete', '--all', '--confirm', '--wait')
    assert.match(said, /^Backup "two" is deleted\.$/m)
    assert.match(said, /^Backup "three" is deleted\.$/m)
    assert.deepEqual([await names('backups', namespace), await files()], [[], []])
    assert.deepEqual(await names('deletebackuprequests', namespace), [])
  })

  it('that cannot be deleted say so in the same words to both', async () => {
    await at('lateen', 'backup', 'create', 'four', '--include-namespaces=default', '--wait')
    const patch = ['--type=merge', '-p', '{"spec":{"accessMode":"ReadOnly"}}']
    await given.cluster.kubectl(['patch', 'backupstoragelocation', 'files', '-n', namespace, ...patch])
    const reason =
      'backup deletion failed: cannot delete backup because backup storage location files is currently in read-only mode'
    const refused = await both.end('lateen', [
      '-n',
      namespace,
      'backup',
      'delete',
      'four',
      '--confirm',
      '--wait',
    ])
    assert.equal(refused.status, 1)
    assert.ok(refused.stderr.includes(`backup "four" was not deleted: ${reason}`), refused.stderr)
    const [ours, theirs] = await Promise.all(
      (['lateen', 'velero'] as const).map(program =>
        at(program, 'backup', 'describe', 'four', '--colorized=false'),
      ),
    )
    assert.equal(ours, theirs)
    assert.ok(theirs?.includes('Deletion Attempts (1 failed)') && theirs.includes(reason), theirs)
  })

  it('lose their restores by either program', async () => {
    for (const program of ['velero', 'lateen'] as const) {
      const restore = `by-${program}`
      const mapping = `--namespace-mappings=default:${namespace}-${program}`
      await at('lateen', 'restore', 'create', restore, '--from-backup=four', mapping, '--wait')
      assert.match(await at(program, 'restore', 'delete', restore, '--confirm'), /submitted successfully/)
    }
    await waitUntil(async () => (await names('restores', namespace)).length === 0, {
      timeoutMs: 60_000,
      failure: () => new Error('restores stay'),
    })
    assert.deepEqual(
      (await files()).filter(name => name.includes('by-')),
      [],
    )
    for (const program of ['velero', 'lateen']) {
      await given.cluster.kubectl(['delete', 'namespace', `${namespace}-${program}`, '--wait=false'])
    }
  })
})

describe('backups of a Velero server', { skip, concurrency: false }, () => {
  const namespace = `lateen-cli-deletion-${mark}`
  let client: KubeClient
  let server: VeleroServer | undefined
  let bucket: BackupBucket

  before(async () => {
    await prepareCluster(given.cluster, namespace)
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
    await createLocation({ cluster: given.cluster, client, namespace }, { prefix: namespace, secret: false })
    bucket = new BackupBucket(given.cluster, namespace)
    server = await startVeleroServer({ cluster: given.cluster, namespace })
    await waitUntil(
      async () => {
        const location = await client.resource(BackupStorageLocationKind, namespace).get('default')
        return location.status?.phase === 'Available'
      },
      { timeoutMs: 120_000, failure: () => new Error('the location is not Available') },
    )
  })
  after(async () => {
    await server?.[Symbol.asyncDispose]()
    bucket?.[Symbol.dispose]()
    await client?.[Symbol.asyncDispose]()
    await given.cluster.kubectl(['delete', 'namespace', namespace, '--wait=false'])
  })

  it('are deleted by lateen, which waits for that', async () => {
    const at = (...args: string[]) => both.run('lateen', ['-n', namespace, ...args])
    await at('backup', 'create', 'theirs', '--include-namespaces=default', '--wait')
    assert.ok((await bucket.keys()).length > 0)
    const said = await at('backup', 'delete', 'theirs', '--confirm', '--wait')
    assert.match(said, /^Backup "theirs" is deleted\.$/m)
    assert.deepEqual([await names('backups', namespace), await bucket.keys()], [[], []])
    const unknown = await both.end('lateen', ['-n', namespace, 'backup', 'delete', 'unknown', '--confirm'])
    assert.equal(unknown.status, 1)
  })
})
