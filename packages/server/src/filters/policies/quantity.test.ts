import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseQuantity } from './quantity.ts'

const unit = 10n ** 9n

describe('parseQuantity', () => {
  const cases: [string, bigint | undefined][] = [
    ['0', 0n],
    ['10', 10n * unit],
    ['+1', unit],
    ['-1', -unit],
    ['1Ki', 1024n * unit],
    ['1.5Gi', 3n * 2n ** 29n * unit],
    ['2G', 2n * 10n ** 18n],
    ['100m', unit / 10n],
    ['1n', 1n],
    ['0.1n', 1n],
    ['1e3', 1000n * unit],
    ['1E3', 1000n * unit],
    ['1e-3', unit / 1000n],
    ['1E', 10n ** 18n * unit],
    ['1.', unit],
    ['.5', unit / 2n],
    ['', undefined],
    ['.', undefined],
    ['Gi', undefined],
    ['1 Gi', undefined],
    ['1gi', undefined],
    ['1KiB', undefined],
    ['1,5', undefined],
    ['1e', undefined],
    ['1e99999999', undefined],
  ]
  for (const [text, quantity] of cases) {
    it(`reads ${JSON.stringify(text)}`, () => assert.equal(parseQuantity(text), quantity))
  }
})
