import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Logger, silentLogger, systemClock } from '@lateen/kube'
import { isLoopback, startProfiler } from './profiler.ts'

/** A log that remembers. */
function recording() {
  const lines: { fields: Record<string, unknown>; message: string }[] = []
  const note = (fields: object, message: string) => void lines.push({ fields: { ...fields }, message })
  const log: Logger = { ...silentLogger, info: note, warn: note, child: () => log }
  return { lines, log }
}

describe('isLoopback', () => {
  for (const [host, expected] of Object.entries({
    localhost: true,
    '127.0.0.1': true,
    '127.9.9.9': true,
    '::1': true,
    '0.0.0.0': false,
    '::': false,
    '10.0.0.1': false,
    'localhost.example.com': false,
  })) {
    it(`is ${expected} for ${host}`, () => assert.equal(isLoopback(host), expected))
  }
})

describe('the profiler', () => {
  it('serves nothing without an address', async () => {
    const { lines, log } = recording()
    await using _profiler = await startProfiler('', { log, clock: systemClock })
    assert.deepEqual(lines, [])
  })

  it('listens on this machine only when no host is named', async () => {
    const { lines, log } = recording()
    await using _profiler = await startProfiler(':0', { log, clock: systemClock })
    assert.equal(lines.length, 1)
    assert.equal(lines[0]?.fields.host, '127.0.0.1')
    const url = `http://127.0.0.1:${lines[0]?.fields.port}/debug/`
    assert.equal((await fetch(url)).status, 200)
  })

  it('warns when others can reach it', async () => {
    const { lines, log } = recording()
    await using _profiler = await startProfiler('0.0.0.0:0', { log, clock: systemClock })
    assert.match(lines[1]?.message ?? '', /secrets/)
  })

  it('does not start at an address that is none', async () => {
    const { log } = recording()
    await assert.rejects(
      startProfiler('6060', { log, clock: systemClock }),
      /the profiler address "6060" is not/,
    )
  })

  it('does not wait for a profile that is being taken when it ends', async () => {
    const { lines, log } = recording()
    const profiler = await startProfiler(':0', { log, clock: systemClock })
    const profile = fetch(`http://127.0.0.1:${lines[0]?.fields.port}/debug/cpu?seconds=300`)
    const cut = assert.rejects(profile, TypeError)
    const url = `http://127.0.0.1:${lines[0]?.fields.port}/debug/cpu?seconds=0`
    while ((await fetch(url)).status !== 429);
    await profiler[Symbol.asyncDispose]()
    await cut
  })
})
