import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { paxEntry, rawEntry, tarGz } from '../../packages/server/src/restore/archive/testing/raw-tar.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { type Ended, type Lateen, lateenFor } from '../cluster/cli-runner.ts'
import { configMap } from '../cluster/restore-harness.ts'

const given = await givenCluster()

/** What can happen to a person who restores from a folder that somebody has sent. */
describe('a folder with backups of a stranger', { skip: given.skip, concurrency: false }, () => {
  const target = `hostile-folder-${process.pid}`
  let lateen: Lateen
  let root = ''
  const folder = () => path.join(root, 'backups-of-a-stranger')

  before(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'lateen-hostile-folder-'))
    lateen = await lateenFor(given.cluster.kubeconfigPath)
    await writeFile(path.join(root, 'precious'), 'of the victim')
    await given.cluster.kubectl(['create', 'namespace', target])
  })
  after(async () => {
    await rm(root, { recursive: true, force: true })
    await given.cluster.kubectl(['delete', 'namespace', target, '--wait=false'])
  })

  async function put(name: string, archive: Buffer, metadata = ''): Promise<void> {
    const at = path.join(folder(), 'backups', name)
    await mkdir(at, { recursive: true })
    const backup = {
      ...{ apiVersion: 'velero.io/v1', kind: 'Backup', metadata: { name } },
      ...{ spec: {}, status: { phase: 'Completed', formatVersion: '1.1.0' } },
    }
    await writeFile(path.join(at, 'velero-backup.json'), metadata || JSON.stringify(backup))
    await writeFile(path.join(at, `${name}.tar.gz`), archive)
  }

  const restore = (name: string, verb = 'create') =>
    lateen(['restore', verb, '--from-backup', name, '--local', folder()])

  async function refused(ended: Promise<Ended>, says: RegExp): Promise<void> {
    const { status, stdout, stderr } = await ended
    assert.notEqual(status, 0, stdout)
    assert.match(stdout + stderr, says)
    assert.doesNotMatch(stdout + stderr, /\n\s+at /)
    assert.equal(await readFile(path.join(root, 'precious'), 'utf8'), 'of the victim')
    assert.deepEqual((await readdir(root)).toSorted(), ['backups-of-a-stranger', 'precious'])
    assert.equal(
      (await given.cluster.kubectl(['get', 'cm', '-n', target, '-o=name'])).match(/stranger/),
      null,
    )
  }

  const object = (name: string) => {
    const content = JSON.stringify(configMap({ namespace: target, name: `stranger-${name}` }))
    return rawEntry({ path: `resources/configmaps/namespaces/${target}/stranger-${name}.json`, content })
  }

  it('writes no file outside, and restores nothing, by names that lead out', async () => {
    const slip = '../../../../precious'
    await put('slip', tarGz(object('slip'), rawEntry({ path: slip, content: 'owned' })))
    await refused(restore('slip'), /leads out of its folder/)
    await put('pax', tarGz(object('pax'), paxEntry({ path: slip }), rawEntry({ path: 'harmless' })))
    await refused(restore('pax', 'plan'), /leads out of its folder/)
  })

  it('does not by a link and a file below it', async () => {
    const link = rawEntry({ path: 'resources/link', flag: '2' })
    await put(
      'link',
      tarGz(object('link'), link, rawEntry({ path: 'resources/link/precious', content: 'x' })),
    )
    await refused(restore('link'), /of the type "2"/)
  })

  it('does not by a bomb in the place of what is small', async () => {
    await put('metadata', tarGz(object('metadata')), JSON.stringify({ text: 'x'.repeat(9 << 20) }))
    await refused(restore('metadata', 'plan'), /is longer than \d+ bytes/)
    const bomb = gzipSync(Buffer.alloc(64 << 20, '['), { level: 9 })
    await put('infos', tarGz(object('infos')))
    await writeFile(path.join(folder(), 'backups/infos/infos-volumeinfo.json.gz'), bomb)
    await refused(restore('infos'), /is a bomb/)
  })

  it('is not followed out of it by a link in the folder itself', async () => {
    await put('elsewhere', tarGz(object('elsewhere')))
    await symlink(
      path.join(root, 'precious'),
      path.join(folder(), 'backups/elsewhere/elsewhere-volumeinfo.json.gz'),
    )
    await refused(restore('elsewhere'), /is a symbolic link/)
  })

  it('is not left by the name of a backup', async () => {
    for (const name of ['../../precious', '..', '/etc', 'a/../../../precious']) {
      await refused(restore(name), /refused|not found|does not|cannot|invalid|no backup/i)
    }
  })
})
