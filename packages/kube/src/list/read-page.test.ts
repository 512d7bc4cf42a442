import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { KubeRequest, KubeResponse } from '../http/kube-request.ts'
import { readPage } from './read-page.ts'

const request: KubeRequest = {
  method: 'GET',
  path: '/apis/example.com/v1/widgets',
  subject: { verb: 'list', resource: 'widgets.example.com', namespace: undefined },
  repeatable: true,
}

function responseOf(chunks: Buffer[]): KubeResponse {
  const failure = (error: unknown) => {
    throw error
  }
  return { body: Readable.from(chunks), server: 'https://example.com', failure } as unknown as KubeResponse
}

/** The text in pieces that end after each of the given numbers of bytes, over and over. */
function inPieces(text: string, sizes: number[]): Buffer[] {
  const bytes = Buffer.from(text)
  const pieces: Buffer[] = []
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1
    pieces.push(bytes.subarray(at, at + size))
    at += size
  }
  return pieces
}

const metadata = { resourceVersion: '7', continue: 'next' }

async function readAll(chunks: Buffer[]) {
  const page = readPage(responseOf(chunks), request, json => JSON.parse(json.toString()) as { name: string })
  const head = await page.head()
  const items = (await Array.fromAsync(page.batches())).flat()
  return { head, items, tail: await page.tail() }
}

describe('A page', () => {
  it('is read the same however it arrives, its metadata before or after its items', async () => {
    const names = fc.array(fc.string(), { maxLength: 5 })
    const sizes = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(names, sizes, fc.boolean(), async (given, pieces, metadataLast) => {
        const items = given.map(name => ({ name }))
        const list = metadataLast ? { kind: 'List', items, metadata } : { kind: 'List', metadata, items }
        const read = await readAll(inPieces(JSON.stringify(list), pieces))
        assert.deepEqual(read.items, items)
        assert.deepEqual(read.tail, { resourceVersion: '7', continueToken: 'next' })
        if (!metadataLast) assert.deepEqual(read.head, read.tail)
      }),
    )
  })

  it('keeps the items of an array that began and ended in one chunk of several', async () => {
    const chunks = ['{"kind":"List"', ',"items":[{"name":"a"}]', `,"metadata":${JSON.stringify(metadata)}}`]
    const { items } = await readAll(chunks.map(chunk => Buffer.from(chunk)))
    assert.deepEqual(items, [{ name: 'a' }])
  })
})
