import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  failureWords,
  parseBackupWords,
  parseProgressWords,
  parseRestoreWords,
  serializeWords,
} from './mover-message.ts'

describe('failureWords', () => {
  it('has the remedy once', () => {
    const hinted = (message: string, hint: string) => Object.assign(new Error(message), { hint })
    assert.equal(failureWords(hinted('the disk is full', 'free some.')), 'the disk is full. Free some')
    assert.equal(
      failureWords(hinted('the disk is full. Free some', 'Free some')),
      'the disk is full. Free some',
    )
    assert.equal(failureWords(new Error('no')), 'no')
    assert.equal(failureWords('no'), 'no')
  })
})

describe('what movers say', () => {
  it('is the JSON of the design, without numbers that are 0', () => {
    const source = { byPath: '/volume', volumeMode: 'Filesystem' } as const
    const words = { snapshotID: 'abc', emptySnapshot: false, source, totalBytes: 10, incrementalBytes: 0 }
    assert.equal(
      serializeWords(words),
      '{"snapshotID":"abc","emptySnapshot":false,"source":{"byPath":"/volume","volumeMode":"Filesystem"},"totalBytes":10}',
    )
    assert.equal(serializeWords({ totalBytes: 5, doneBytes: 3 }), '{"totalBytes":5,"doneBytes":3}')
  })

  it('is understood again, by Velero’s words too', () => {
    const text = '{"snapshotID":"1f","emptySnapshot":true,"source":{"byPath":"/v","volumeMode":"Filesystem"}}'
    assert.deepEqual(parseBackupWords(text), {
      snapshotID: '1f',
      emptySnapshot: true,
      source: { byPath: '/v', volumeMode: 'Filesystem' },
      totalBytes: 0,
      incrementalBytes: 0,
    })
    assert.deepEqual(
      parseRestoreWords('{"target":{"byPath":"/v","volumeMode":"Filesystem"},"totalBytes":7}'),
      {
        target: { byPath: '/v', volumeMode: 'Filesystem' },
        totalBytes: 7,
      },
    )
    assert.deepEqual(parseProgressWords('{"totalBytes":9}'), { totalBytes: 9, doneBytes: 0 })
  })

  for (const text of ['', 'OOMKilled', '7', 'null', '{"snapshotID":7}', '{']) {
    it(`is no result when it is ${JSON.stringify(text)}`, () => {
      assert.equal(parseBackupWords(text), undefined)
      assert.equal(parseRestoreWords(text), undefined)
    })
  }

  it('counts nothing that is no count', () => {
    assert.deepEqual(parseProgressWords('{"totalBytes":-1,"doneBytes":"5"}'), { totalBytes: 0, doneBytes: 0 })
  })
})
