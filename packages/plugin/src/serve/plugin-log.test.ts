import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createPluginLog, type LogFields, serializeLogEntry } from './plugin-log.ts'

const entry = (fields: LogFields, message = 'done') =>
  JSON.parse(serializeLogEntry({ level: 'info', message, fields, source: 'a.ts:1' }))

describe('the log of a plugin', () => {
  it('has one line of JSON for each entry, with the place it is logged at', () => {
    const lines: string[] = []
    const log = createPluginLog({ level: 'debug', write: line => lines.push(line) }).child({
      plugin: 'a.io/a',
    })
    log.trace({}, 'too much')
    log.warn({ count: 3 }, 'Look\nhere')
    assert.equal(lines.length, 1)
    assert.match(lines[0] ?? '', /^[^\n]+\n$/)
    const { logSource, ...rest } = JSON.parse(lines[0] ?? '')
    assert.match(logSource, /plugin-log\.test\.ts:\d+$/)
    assert.deepEqual(rest, {
      '@message': 'Look\nhere',
      '@level': 'warn',
      '@logSourceSetBy': 'plugin',
      plugin: 'a.io/a',
      count: 3,
    })
  })

  it('makes strings of the fields that Velero dies of otherwise, and leaves its own alone', () => {
    const fields = {
      name: 5,
      namespace: null,
      resource: { a: 1 },
      '@message': 7,
      '@timestamp': 'x',
      '@level': 1,
    }
    assert.deepEqual(entry(fields), {
      '@message': 'done',
      '@level': 'info',
      logSource: 'a.ts:1',
      '@logSourceSetBy': 'plugin',
      name: '5',
      namespace: 'null',
      resource: '{"a":1}',
    })
    assert.equal(entry({}, 5 as never)['@message'], '5')
    assert.ok(!('name' in entry({ name: undefined })))
  })

  it('tells an error by its text and where it comes from', () => {
    const { error, 'error.file': file } = entry({ err: new Error('broken') })
    assert.equal(error, 'broken')
    assert.match(file, /plugin-log\.test\.ts/)
  })

  it('survives what cannot be written, and stays below what hosts read', () => {
    const circle: Record<string, unknown> = {}
    circle.self = circle
    assert.match(entry({ circle }).cut, /left out/)
    assert.match(entry({ long: 'x'.repeat(100_000) }).cut, /left out/)
    assert.equal(entry({ big: 5n }).big, '5')
    for (const message of ['\u0001'.repeat(100_000), '€'.repeat(100_000)]) {
      const line = serializeLogEntry({ level: 'info', message, fields: { more: message }, source: 'a' })
      assert.ok(Buffer.byteLength(line) < 65_536, `${Buffer.byteLength(line)} bytes`)
    }
  })
})
