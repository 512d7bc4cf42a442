import assert from 'node:assert/strict'
import { it } from 'node:test'
import { masked } from './cluster-files.ts'

it('a secret that comes in two pieces is left out, and lines stay as they are', async () => {
  const pieces = ['a\n\nget https://s3/b?sig=SEC', 'RET\npassword', Buffer.from('=x\nlast')]
  const shown = await Array.fromAsync(masked(pieces as unknown as AsyncIterable<string | Uint8Array>))
  assert.equal(shown.join(''), 'a\n\nget https://s3/b?sig=<left-out>\npassword=<left-out>\nlast')
})
