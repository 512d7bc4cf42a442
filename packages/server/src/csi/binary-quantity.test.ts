import assert from 'node:assert/strict'
import { it } from 'node:test'
import { binaryQuantity } from './binary-quantity.ts'

it('a number of bytes has the largest binary suffix that leaves an integer', () => {
  const known: [number, string][] = [
    [0, '0'],
    [1000, '1000'],
    [1024, '1Ki'],
    [16 * 2 ** 20, '16Mi'],
    [1536 * 2 ** 20, '1536Mi'],
    [2 ** 40, '1Ti'],
  ]
  for (const [bytes, text] of known) assert.equal(binaryQuantity(bytes), text)
})
