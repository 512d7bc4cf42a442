import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseResticMessage, parseResticSnapshots, parseResticStats } from './restic-message.ts'

describe('a line of restic', () => {
  it('gives the progress of a backup', () => {
    const line =
      '{"message_type":"status","percent_done":0.5,"total_files":4,"files_done":1,"total_bytes":200,"bytes_done":100}'
    assert.deepEqual(parseResticMessage(line), {
      type: 'status',
      bytesDone: 100,
      totalBytes: 200,
      filesDone: 1,
      totalFiles: 4,
    })
  })

  it('gives the progress of a restore by newer versions', () => {
    const line =
      '{"message_type":"status","total_files":2,"files_restored":1,"total_bytes":9,"bytes_restored":3}'
    assert.deepEqual(parseResticMessage(line), {
      type: 'status',
      bytesDone: 3,
      totalBytes: 9,
      filesDone: 1,
      totalFiles: 2,
    })
  })

  it('gives the snapshot of a summary', () => {
    const line =
      '{"message_type":"summary","data_added":7,"total_files_processed":2,"total_bytes_processed":30,"snapshot_id":"238d9bad"}'
    assert.deepEqual(parseResticMessage(line), {
      type: 'summary',
      snapshotId: '238d9bad',
      totalBytes: 30,
      dataAdded: 7,
      totalFiles: 2,
    })
  })

  it('names the item of an error', () => {
    const line =
      '{"message_type":"error","error":{"message":"permission denied"},"during":"archival","item":"/a"}'
    assert.deepEqual(parseResticMessage(line), { type: 'error', item: '/a', reason: 'permission denied' })
  })

  it('is nothing when it is text, half an object or unknown', () => {
    for (const line of [
      'restoring <Snapshot 238d9bad>',
      '{"message_type":"sta',
      '{"message_type":"new"}',
      '',
    ]) {
      assert.equal(parseResticMessage(line), undefined)
    }
  })
})

describe('the documents of restic', () => {
  it('may list no snapshots as null', () => {
    assert.deepEqual(parseResticSnapshots('null'), [])
  })

  it('may list snapshots without tags', () => {
    assert.deepEqual(parseResticSnapshots('[{"id":"ab","time":"t","paths":["/p"],"hostname":"h"}]'), [
      { id: 'ab', time: 't', paths: ['/p'], hostname: 'h', tags: [] },
    ])
  })

  it('count bytes', () => {
    assert.equal(parseResticStats('{"total_size":12,"total_file_count":3}'), 12)
    assert.equal(parseResticStats(''), 0)
  })
})
