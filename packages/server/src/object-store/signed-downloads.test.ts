import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { after, before, describe, it } from 'node:test'
import { ObjectStoreError } from '@lateen/plugin'
import { createSignedDownloads, parseRange, type SignedDownloads } from './signed-downloads.ts'

describe('parseRange', () => {
  const cases: [string | undefined, ReturnType<typeof parseRange>][] = [
    [undefined, undefined],
    ['bytes=0-0', { start: 0, end: 0 }],
    ['bytes=2-', { start: 2, end: 9 }],
    ['bytes=2-99', { start: 2, end: 9 }],
    ['bytes=-3', { start: 7, end: 9 }],
    ['bytes=-99', { start: 0, end: 9 }],
    ['bytes=10-', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=5-2', undefined],
    ['bytes=0-1,3-4', undefined],
    ['bytes=-', undefined],
    ['items=0-1', undefined],
  ]
  for (const [header, range] of cases) {
    it(`reads ${header ?? 'no header'} of ten bytes as ${JSON.stringify(range ?? 'the whole object')}`, () =>
      assert.deepEqual(parseRange(header, 10), range))
  }

  it('finds every range of an empty object unsatisfiable', () => {
    assert.equal(parseRange('bytes=0-', 0), 'unsatisfiable')
    assert.equal(parseRange('bytes=-1', 0), 'unsatisfiable')
  })
})

describe('signed downloads', () => {
  let now = 1_700_000_000_000
  let links: SignedDownloads
  let server: Server
  let base = ''
  const clock = { now: () => now, sleep: async () => undefined }

  before(async () => {
    links = createSignedDownloads({ signingKey: randomBytes(32), clock, publicUrl: () => base })
    links.addSource('s', async ({ key }) => {
      if (key === 'broken') throw new Error('disk on fire at /var/secret')
      if (key !== 'dir/a.tar.gz' && key !== 'velero-backup.json')
        throw new ObjectStoreError('NOT_FOUND', { reason: 'none' })
      const bytes = Buffer.from('0123456789')
      return {
        size: bytes.length,
        read: (start, end) => Readable.from([bytes.subarray(start, end + 1)]),
        [Symbol.asyncDispose]: async () => undefined,
      }
    })
    server = createServer((request, response) => void links.handle(request, response))
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  after(() => {
    server.closeAllConnections()
    server.close()
  })

  const link = (key = 'dir/a.tar.gz') => links.sign({ source: 's', bucket: 'b', key, ttlSeconds: 60 })

  it('serve the object with its length, type and name', async () => {
    const response = await fetch(link())
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('content-length'), '10')
    assert.equal(response.headers.get('content-type'), 'application/gzip')
    assert.equal(response.headers.get('content-encoding'), null)
    assert.match(response.headers.get('content-disposition') ?? '', /a\.tar\.gz$/)
    assert.equal(await response.text(), '0123456789')
    assert.equal((await fetch(link('velero-backup.json'))).headers.get('content-type'), 'application/json')
  })

  it('serve ranges, and say when one lies outside', async () => {
    const part = await fetch(link(), { headers: { range: 'bytes=3-5' } })
    assert.equal(part.status, 206)
    assert.equal(part.headers.get('content-range'), 'bytes 3-5/10')
    assert.equal(await part.text(), '345')
    const outside = await fetch(link(), { headers: { range: 'bytes=10-' } })
    assert.equal(outside.status, 416)
    assert.equal(outside.headers.get('content-range'), 'bytes */10')
  })

  it('answer HEAD without a body and refuse other methods', async () => {
    const head = await fetch(link(), { method: 'HEAD' })
    assert.equal(head.status, 200)
    assert.equal(head.headers.get('content-length'), '10')
    assert.equal((await fetch(link(), { method: 'DELETE' })).status, 405)
  })

  it('refuse altered claims, altered signatures, foreign keys and nonsense', async () => {
    const good = new URL(link())
    const claim = good.pathname.split('/')[2] ?? ''
    const forged = Buffer.from(JSON.stringify(['s', 'b', 'velero-backup.json', 9_999_999_999])).toString(
      'base64url',
    )
    const others = createSignedDownloads({ signingKey: randomBytes(32), clock, publicUrl: () => base })
    const bad = [
      good.href.replace(claim, forged),
      good.href.replace(/signature=./, match => (match.endsWith('0') ? 'signature=1' : 'signature=0')),
      good.href.replace(/\?.*/, ''),
      `${good.href}0`,
      others.sign({ source: 's', bucket: 'b', key: 'dir/a.tar.gz', ttlSeconds: 60 }),
      `${base}/download/`,
      `${base}/download/x/y?signature=${'0'.repeat(64)}`,
    ]
    for (const url of bad) assert.equal((await fetch(url)).status, 403, url)
  })

  it('expire', async () => {
    const url = link()
    now += 59_000
    assert.equal((await fetch(url)).status, 200)
    now += 1_000
    const response = await fetch(url)
    assert.equal(response.status, 403)
    assert.match(await response.text(), /expired/)
  })

  it('answer 404 for what is not there and 500 without details for what cannot be read', async () => {
    assert.equal((await fetch(link('none'))).status, 404)
    assert.equal(
      (await fetch(links.sign({ source: 'x', bucket: 'b', key: 'k', ttlSeconds: 60 }))).status,
      404,
    )
    const broken = await fetch(link('broken'))
    assert.equal(broken.status, 500)
    assert.doesNotMatch(await broken.text(), /secret/)
  })

  it('use the public URL they are given, with a path', () => {
    const options = {
      source: 's',
      bucket: 'b',
      key: 'k',
      ttlSeconds: 60,
      publicUrl: 'https://backups.example/lateen/',
    }
    assert.ok(links.sign(options).startsWith('https://backups.example/lateen/download/'))
  })
})
