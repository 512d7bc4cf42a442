import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { describe, it } from 'node:test'
import { printResult } from './print-result.ts'
import type { Progress } from './progress.ts'

function progress(phase: string, elapsedMs: number): Progress {
  return { phase, done: 1, total: 2, elapsedMs }
}

async function* some(): AsyncGenerator<string | Progress> {
  yield 'first'
  yield progress('Queued', 1_000)
  yield progress('InProgress', 2_000)
  yield progress('InProgress', 3_000)
  yield progress('InProgress', 12_000)
  yield 'last'
}

async function printed(out: PassThrough, lines: AsyncIterable<string | Progress>): Promise<string> {
  await printResult({ show: 'lines', lines }, out)
  return String(out.read())
}

describe('printResult', () => {
  it('prints progress as a line when the phase changes and every ten seconds', async () => {
    assert.equal(
      await printed(new PassThrough(), some()),
      'first\nQueued 1s, 1/2 items\nInProgress 2s, 1/2 items\nInProgress 12s, 1/2 items\nlast\n',
    )
  })

  it('replaces the bar of a terminal in place, and clears it for lines', async () => {
    const terminal = Object.assign(new PassThrough(), { isTTY: true, columns: 60 })
    const text = await printed(terminal, some())
    const shown = text.split('\r\u001b[K').map(line => line.replace(/ \[.*/, ''))
    assert.deepEqual(shown, [
      'first\nQueued 1s',
      'InProgress 2s',
      'InProgress 3s',
      'InProgress 12s',
      'last\n',
    ])
  })

  it('ends the line of the bar when the source fails', async () => {
    const terminal = Object.assign(new PassThrough(), { isTTY: true })
    const failing = (async function* () {
      yield progress('InProgress', 1)
      throw new Error('broken')
    })()
    await assert.rejects(printed(terminal, failing), /broken/)
    assert.match(String(terminal.read()), /^InProgress 0s .*\n$/)
  })

  it('asks for the exit code after the last line', async () => {
    let ended = false
    const lines = (async function* () {
      yield 'a'
      ended = true
    })()
    assert.equal(
      await printResult({ show: 'lines', lines, exitCode: () => (ended ? 3 : 0) }, new PassThrough()),
      3,
    )
  })

  it('shows a terminal the control characters of a file, in place of letting it obey them', async () => {
    const file = Buffer.from('a\u001b]0;owned\u0007b\u009b2Jc\td\né')
    const chunks = async function* () {
      // In the middle of a character.
      yield file.subarray(0, -1)
      yield file.subarray(-1)
    }
    const terminal = Object.assign(new PassThrough(), { isTTY: true })
    await printResult({ show: 'text', chunks: chunks() }, terminal)
    assert.equal(String(terminal.read()), 'a?]0;owned?b?2Jc\td\né')
    const pipe = new PassThrough()
    await printResult({ show: 'text', chunks: chunks() }, pipe)
    assert.deepEqual(pipe.read(), file)
  })

  it('writes text no faster than it is taken', async () => {
    const out = new PassThrough({ highWaterMark: 1 })
    let made = 0
    const chunks = (async function* () {
      for (; made < 3; made += 1) yield 'xx'
    })()
    const printing = printResult({ show: 'text', chunks }, out)
    await new Promise(resolve => setImmediate(resolve))
    assert.equal(made, 0)
    out.resume()
    await printing
    assert.equal(made, 3)
  })
})
