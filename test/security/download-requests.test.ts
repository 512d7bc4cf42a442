import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type DownloadRequest, DownloadRequestKind, type DownloadTargetKind } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { createConfigMaps, openServerScene, type ServerScene } from '../cluster/backup-server-scene.ts'
import type { RunningServer } from '../cluster/storage-location-harness.ts'

const given = await givenCluster({ s3: true })

/** What a person may do with it who may create download requests, and nothing else. */
describe('a request for a file', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene
  let server: RunningServer
  let folder = ''
  let count = 0

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'lateen-download-requests-'))
    scene = await openServerScene(given.cluster, 'download-requests')
    await createConfigMaps(scene, { count: 1, bytes: 10 })
    server = await scene.start({ downloadUrlBase: 'http://lateen.invalid' })
    const config = { path: folder, createBucket: 'true' }
    await scene.locations.create('folder', { provider: 'filesystem', objectStorage: { bucket: 'b' }, config })
    await scene.locations.available('folder')
    const spec = { includedNamespaces: [scene.data], storageLocation: 'folder' }
    assert.equal((await scene.backups.take('mine', spec)).status?.phase, 'Completed')
    assert.equal((await scene.backups.take('other', spec)).status?.phase, 'Completed')
  })
  after(async () => {
    await scene?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  const requests = () => scene.client.resource(DownloadRequestKind, scene.namespace)

  /** The request once the server has said something about it. */
  async function asked(target: { kind: DownloadTargetKind; name: string }): Promise<DownloadRequest> {
    const name = `request-${count++}`
    const metadata = { name, namespace: scene.namespace }
    const { group, version, kind } = DownloadRequestKind
    await requests().create({ apiVersion: `${group}/${version}`, kind, metadata, spec: { target } })
    const answered = async () => {
      const request = await requests().get(name)
      return request.status?.expiration == null ? undefined : request
    }
    return waitUntil(answered, { timeoutMs: 60_000, failure: () => new Error(`${name} has no answer`) })
  }

  const linkTo = async (name: string) => {
    const { status } = await asked({ kind: 'BackupContents', name })
    assert.equal(status?.phase, 'Processed')
    const { pathname, search } = new URL(status?.downloadURL ?? '')
    return `${server.url}${pathname}${search}`
  }

  const names = [
    ...['../mine', 'mine/../other', 'mine/', './mine', '..', '.', '/', '%2e%2e', '..%2fother', 'mine%00'],
    ...['backups/mine', 'mine?x=y', 'mine#', 'MINE', 'mine\nother', 'x'.repeat(2000)],
  ]
  it('gets no link for a name that is no name of a backup or a restore', async () => {
    const kinds = ['BackupContents', 'BackupLog', 'RestoreLog'] as const
    const targets = names.flatMap((name, at) => ({ name, kind: kinds[at % kinds.length] ?? 'BackupLog' }))
    const answers = await Promise.all(targets.map(asked))
    for (const { spec, status, metadata } of answers) {
      assert.equal(status?.downloadURL ?? '', '', JSON.stringify(spec.target))
      assert.equal(status?.phase, 'New')
      assert.match(metadata.annotations?.['lateen.dev/error'] ?? '', /\S/)
    }
  })

  it('is refused by the API server for a kind of file that there is not', async () => {
    const target = { kind: 'ServiceAccountToken' as DownloadTargetKind, name: 'mine' }
    await assert.rejects(asked(target), { code: 'Invalid' })
  })

  it('gets no more than the one file that it asked for, for as long as it says', async () => {
    const link = await linkTo('mine')
    const answer = await fetch(link)
    assert.equal(answer.status, 200)
    assert.equal(Buffer.from(await answer.arrayBuffer()).readUInt16BE(), 0x1f8b)
    const url = new URL(link)
    const [, , claim = ''] = url.pathname.split('/')
    const parts: unknown[] = JSON.parse(Buffer.from(claim, 'base64url').toString())
    const forged = (...changed: unknown[]) => Buffer.from(JSON.stringify(changed)).toString('base64url')
    const [source, bucket, key, expires] = parts
    const other = String(key).replaceAll('mine', 'other')
    const attempts = [
      forged(source, bucket, other, expires),
      forged(source, bucket, '../../../etc/passwd', expires),
      forged(source, '..', key, expires),
      forged('0'.repeat(16), bucket, key, expires),
      forged(source, bucket, key, Number(expires) + 1_000_000),
    ]
    for (const attempt of attempts) {
      const tried = link.replace(claim, attempt)
      assert.equal((await fetch(tried)).status, 403, tried)
    }
    for (const changed of [
      link.replace(/signature=.{8}/, 'signature=00000000'),
      link.replace(/\?.*/, ''),
      link.replace(/signature=.*/, 'signature='),
      `${link}&signature=${'0'.repeat(64)}`,
      link.replace('/download/', '/download/../download/../../etc/passwd/'),
      `${server.url}/download/`,
    ]) {
      const { status } = await fetch(changed)
      assert.ok(status === 403 || status === 404, `${status} for ${changed}`)
    }
    assert.equal((await fetch(link, { method: 'DELETE' })).status, 405)
  })

  it('has links that do not outlive the server', async () => {
    const link = await linkTo('other')
    assert.equal((await fetch(link)).status, 200)
    await server.stop()
    const old = new URL(link)
    server = await scene.start({ downloadUrlBase: 'http://lateen.invalid' })
    assert.equal((await fetch(`${server.url}${old.pathname}${old.search}`)).status, 403)
  })
})
