import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { describe, it } from 'node:test'
import { createLog, formatTextLine } from './log.ts'

function captured(format: 'text' | 'json'): { log: ReturnType<typeof createLog>; text: () => string } {
  const chunks: Buffer[] = []
  const out = new Writable({
    write(chunk, _encoding, callback) {
      chunks.push(chunk)
      callback()
    },
  })
  return { log: createLog({ level: 'info', format, out }), text: () => Buffer.concat(chunks).toString() }
}

describe('the log', () => {
  it('writes one readable line for each event', () => {
    const { log, text } = captured('text')
    log
      .child({ controller: 'c' })
      .info({ location: 'velero/default', reason: 'two words', count: 3 }, 'it happened')
    const line =
      /^\d{4}-\d\d-\d\dT[\d:.]+Z INFO {2}it happened controller=c location=velero\/default reason="two words" count=3\n$/
    assert.match(text(), line)
  })

  it('writes the message of an error and keeps its line whole', () => {
    const { log, text } = captured('text')
    log.error({ err: new Error('first\nsecond') }, 'failed')
    assert.match(text(), /ERROR failed err="first\\nsecond"\n$/)
  })

  it('writes JSON with the level by name, the time and the stack', () => {
    const { log, text } = captured('json')
    log.warn({ err: new Error('broken') }, 'failed')
    const event = JSON.parse(text())
    assert.equal(event.level, 'warn')
    assert.equal(event.msg, 'failed')
    assert.equal(event.err.message, 'broken')
    assert.match(event.err.stack, /log\.test/)
    assert.ok(!Number.isNaN(Date.parse(event.time)))
  })

  it('says what an error says, whatever the field is called that it is in', () => {
    for (const format of ['text', 'json'] as const) {
      const { log, text } = captured(format)
      log.child({ controller: 'c' }).warn({ error: new Error('broken') }, 'failed')
      log.warn({ error: 'a text' }, 'failed')
      const [first = '', second = ''] = text().trim().split('\n')
      assert.match(first, /error"?[=:].*"broken/)
      assert.match(second, /error"?[=:]"a text"/)
    }
  })

  it('leaves out what is below its level', () => {
    const { log, text } = captured('text')
    log.debug({}, 'detail')
    assert.equal(text(), '')
  })

  it('passes on lines that are not its own', () => {
    assert.equal(formatTextLine('plain text\n'), 'plain text')
    assert.equal(formatTextLine('42'), '42')
  })
})
