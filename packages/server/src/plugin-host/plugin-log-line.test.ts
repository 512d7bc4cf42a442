import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PluginLogReader } from './plugin-log-line.ts'

const read = (text: string, cut = false) => new PluginLogReader().read({ text, cut })

describe('A line that a plugin program logs', () => {
  it('has its message, its level and its own fields', () => {
    const line = {
      '@level': 'warn',
      '@message': 'careful',
      '@timestamp': '2026-01-02T03:04:05.000000Z',
      '@logSourceSetBy': 'plugin',
      level: 'warning',
      time: 'x',
      logSource: 'a.go:1',
      volume: { id: 3 },
    }
    assert.deepEqual(read(JSON.stringify(line)), {
      level: 'warn',
      message: 'careful',
      fields: { logSource: 'a.go:1', volume: { id: 3 } },
    })
  })

  it('has one of our levels for each of theirs', () => {
    const theirs = ['trace', 'debug', 'info', 'WARN', 'warning', 'error', 'fatal', 'panic']
    const ours = theirs.map(level => read(JSON.stringify({ '@level': level, '@message': '' })).level)
    assert.deepEqual(ours, ['debug', 'debug', 'info', 'warn', 'warn', 'error', 'error', 'error'])
  })

  it('is told as it is, at debug, where it is no entry of a log', () => {
    for (const text of [
      'plain',
      '{"half":',
      '{"@message":"no level"}',
      '{"@level":"off"}',
      '[]',
      'null',
      '{"@level":7}',
    ]) {
      assert.deepEqual(read(text), { level: 'debug', message: text, fields: {} })
    }
  })

  it('survives what is no text where text belongs', () => {
    assert.equal(read('{"@level":"info","@message":5}').message, '5')
    assert.equal(read('{"@level":"info","@message":{"a":1}}').message, '{"a":1}')
    assert.equal(read('{"@level":"info"}').message, '')
    const { fields } = read(
      '{"@level":"info","@message":"m","name":5,"namespace":null,"resource":["a"],"msg":"x"}',
    )
    assert.deepEqual(fields, { name: '5', namespace: 'null', resource: '["a"]', 'fields.msg': 'x' })
  })

  it('has the level that its beginning names', () => {
    const levels = ['[TRACE] a', '[DEBUG] a', '[INFO] a', '[WARN] a', '[ERROR] a', '[OTHER] a']
    assert.deepEqual(
      levels.map(text => read(text).level),
      ['debug', 'debug', 'info', 'warn', 'error', 'debug'],
    )
  })

  it('is an error from a panic on, unless it says what it is', () => {
    const reader = new PluginLogReader()
    const lines = [
      'before',
      'panic: broken',
      'goroutine 1 [running]:',
      '[INFO] said',
      '{"@level":"info"}',
      'exit 2',
    ]
    assert.deepEqual(
      lines.map(text => reader.read({ text, cut: false }).level),
      ['debug', 'error', 'error', 'info', 'info', 'error'],
    )
    assert.equal(read('fatal error: out of memory').level, 'error')
  })

  it('keeps level and message where it is too long to be read whole', () => {
    const long = JSON.stringify({ '@level': 'error', '@message': 'it is "broken"', detail: 'x'.repeat(100) })
    assert.deepEqual(read(long.slice(0, 80), true), {
      level: 'error',
      message: 'it is "broken"',
      fields: { cut: true },
    })
    const message = JSON.stringify({ '@level': 'error', '@message': `a\n${'x'.repeat(100)}` })
    assert.equal(
      read(message.slice(0, 50), true).message,
      `a\n${'x'.repeat(50 - '{"@level":"error","@message":"a\\n'.length)}`,
    )
    assert.deepEqual(read('xxx', true), { level: 'debug', message: 'xxx', fields: { cut: true } })
  })
})
