import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import path from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { startFaultServer } from '../testing/fault-server.ts'

const MiB = 1024 * 1024
const data = { text: 'x'.repeat(1024) }

/** Streams the page a request asks for; a continue token is the position to go on at. */
async function sendPage(url: string, response: ServerResponse, total: number): Promise<void> {
  const query = new URL(url, 'http://x').searchParams
  const from = Number(query.get('continue') ?? 0)
  const to = Math.min(total, from + Number(query.get('limit')))
  const metadata = { resourceVersion: '1', ...(to < total && { continue: String(to) }) }
  response.write(`{"kind":"ConfigMapList","apiVersion":"v1","metadata":${JSON.stringify(metadata)},"items":[`)
  for (let at = from; at < to; at++) {
    const item = JSON.stringify({ metadata: { name: String(at).padStart(6, '0'), namespace: 'n' }, data })
    if (!response.write(at === from ? item : `,${item}`)) await once(response, 'drain')
  }
  response.end(']}\n')
}

async function listInAnotherProcess(total: number): Promise<{ count: number; peakBytes: number }> {
  await using server = await startFaultServer(({ url }, response) => sendPage(url, response, total))
  const script = path.join(import.meta.dirname, '../testing/count-listed.ts')
  // As our image runs it: how much garbage waits there depends on luck otherwise.
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--max-semi-space-size=4',
    script,
    server.url,
  ])
  return JSON.parse(stdout)
}

describe('The memory of a list', () => {
  it('does not grow with the number of objects: 100,000 of 1 KiB need at most 64 MiB more than 2,000', async () => {
    const few = await listInAnotherProcess(2_000)
    const many = await listInAnotherProcess(100_000)
    assert.deepEqual([few.count, many.count], [2_000, 100_000])
    assert.ok(
      many.peakBytes - few.peakBytes < 64 * MiB,
      `${few.peakBytes / MiB} MiB, then ${many.peakBytes / MiB} MiB`,
    )
  })
})
