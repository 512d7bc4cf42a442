import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { defaultJsonLimits, readStoredJson } from '../backup-store/stored-json.ts'
import { cutText, longestTexts } from './cut-text.ts'

describe('a text of a plugin', () => {
  it('is kept as it is if it is short enough, and says how much of it is not kept', () => {
    assert.equal(cutText('pages', 5), 'pages')
    assert.equal(cutText('page 10', 5), 'page … (2 more characters)')
    assert.equal(cutText('', 5), '')
  })

  it('is not cut in the middle of a character, and what is no character is replaced', () => {
    assert.equal(cutText('abcd😀e', 5), 'abcd… (3 more characters)')
    assert.ok(cutText('\ud800'.repeat(10), 5).isWellFormed())
  })

  const saying = (text: string) => ({
    phase: 'Failed',
    error: cutText(text, longestTexts.error),
    operationUnits: cutText(text, longestTexts.operationUnits),
    description: cutText(text, longestTexts.description),
  })

  it('does not make a file compress so well that we refuse to read it', async () => {
    const status = saying('x'.repeat(1 << 20))
    const operations = Array.from({ length: 4_000 }, (_, at) => ({ spec: { operationID: `${at}` }, status }))
    const text = JSON.stringify(operations)
    assert.ok(text.length > defaultJsonLimits.ratioFrom)
    const stored = Readable.from([gzipSync(text)])
    const file = { key: 'k', stored, compressed: true, limits: defaultJsonLimits, signal: undefined }
    assert.equal(((await readStoredJson(file)) as unknown[]).length, 4_000)
  })

  it('does not make a file of 10,000 operations larger than we read', () => {
    const length = Buffer.byteLength(JSON.stringify(saying('€'.repeat(1 << 20))))
    assert.ok(10_000 * length < defaultJsonLimits.bytes)
  })
})
