import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { describe, it } from 'node:test'
import { systemClock } from '@lateen/kube'
import { terminalProgress } from './terminal-progress.ts'

const counts = { phase: 'Planning', done: 1, total: 4 }

describe('terminalProgress', () => {
  it('shows a bar on a terminal, and leaves nothing behind', () => {
    const out = Object.assign(new PassThrough(), { isTTY: true, columns: 80 })
    {
      using progress = terminalProgress(out, systemClock)
      progress.seen(counts)
    }
    const text = String(out.read())
    assert.match(text, /Planning .* 25% 1\/4 items/)
    assert.ok(text.startsWith('\r\u001b[K'))
    assert.ok(text.endsWith('\r\u001b[K'))
  })

  it('writes nothing elsewhere', () => {
    const out = new PassThrough()
    {
      using progress = terminalProgress(out, systemClock)
      progress.seen(counts)
    }
    assert.equal(out.read(), null)
  })
})
