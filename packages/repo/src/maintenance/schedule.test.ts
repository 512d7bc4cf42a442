import assert from 'node:assert/strict'
import { createCipheriv } from 'node:crypto'
import { describe, it } from 'node:test'
import {
  emptySchedule,
  maxRunsPerTask,
  openSchedule,
  parseSchedule,
  type RunRecord,
  recordRun,
  sealSchedule,
  serializeSchedule,
} from './schedule.ts'

const text =
  '{"nextFullMaintenance":"2026-11-16T10:00:00.123456789Z","nextQuickMaintenance":"2026-11-15T11:00:00Z","runs":{' +
  '"a-task-of-the-future":[{"start":"2026-11-15T09:00:00Z","end":"2026-11-15T09:00:01Z","success":true,"colour":"blue"}],' +
  '"snapshot-gc":[{"start":"2026-11-15T10:00:00Z","end":"2026-11-15T10:00:00.5Z","success":true,"extra":[{"kind":"snapshotGCStats",' +
  '"data":{"deletedContentSize":9223372036854775807,"later":null}},{"kind":"advanceEpochStats","data":null}]},' +
  '{"start":"2026-11-14T10:00:00Z","end":"2026-11-14T10:00:00Z","error":"a \\u003c b"}]},"later":[1]}'

const key = Uint8Array.from({ length: 32 }, (_, n) => n)
const nonce = Uint8Array.from({ length: 12 }, (_, n) => n)
const run = (n: number): RunRecord => {
  return { start: BigInt(n), end: BigInt(n + 1), success: true, error: '', extra: [], unknown: {} }
}

describe('the maintenance schedule', () => {
  it('comes back byte for byte, tasks, fields and statistics of other versions included', () => {
    assert.equal(serializeSchedule(parseSchedule(text)), text)
  })

  it('says what its history says', () => {
    const schedule = parseSchedule(text)
    assert.equal(schedule.nextFull, 1794823200123456789n)
    const [newest, oldest] = schedule.runs['snapshot-gc'] ?? []
    assert.equal(newest?.success, true)
    assert.equal(newest?.end, 1794736800500000000n)
    assert.equal(oldest?.success, false)
    assert.equal(oldest?.error, 'a < b')
  })

  it('of a client that never ran anything has no runs and is due', () => {
    const never =
      '{"nextFullMaintenance":"0001-01-01T00:00:00Z","nextQuickMaintenance":"0001-01-01T00:00:00Z","runs":null}'
    assert.deepEqual(parseSchedule(never), emptySchedule)
    assert.equal(serializeSchedule(emptySchedule), never)
  })

  it('keeps the newest fifty runs of each task, newest first', () => {
    let schedule = emptySchedule
    for (let n = 0; n < 60; n += 1) schedule = recordRun(schedule, 'snapshot-gc', run(n))
    schedule = recordRun(schedule, 'cleanup-logs', run(1))
    assert.equal(schedule.runs['snapshot-gc']?.length, maxRunsPerTask)
    assert.equal(schedule.runs['snapshot-gc']?.[0]?.start, 59n)
    assert.equal(schedule.runs['snapshot-gc']?.at(-1)?.start, 10n)
    assert.equal(schedule.runs['cleanup-logs']?.length, 1)
  })

  it('is sealed with AES-256-GCM: nonce, ciphertext, tag, the word maintenance as additional data', () => {
    const cipher = createCipheriv('aes-256-gcm', key, nonce)
    cipher.setAAD(Buffer.from('maintenance'))
    const expected = Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()])
    assert.deepEqual(Buffer.from(sealSchedule(parseSchedule(text), key, nonce)), expected)
    assert.deepEqual(openSchedule(expected, key), parseSchedule(text))
  })

  it('is refused when a bit of it flipped, when it is cut short, and with another key', () => {
    const sealed = sealSchedule(parseSchedule(text), key, nonce)
    for (const position of [0, 20, sealed.length - 1]) {
      const flipped = Uint8Array.from(sealed, (byte, at) => (at === position ? byte ^ 1 : byte))
      assert.throws(() => openSchedule(flipped, key), { code: 'CORRUPT' })
    }
    assert.throws(() => openSchedule(sealed.subarray(0, 27), key), { code: 'CORRUPT' })
    assert.throws(() => openSchedule(sealed, new Uint8Array(32)), { code: 'CORRUPT' })
  })
})
