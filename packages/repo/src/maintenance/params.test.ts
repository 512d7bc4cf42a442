import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodeGoJson, parseGoJson } from '../go-json/go-json.ts'
import { defaultMaintenanceParams, parseMaintenanceParams, serializeMaintenanceParams } from './params.ts'

// What kopia 0.22.3 stores for a new repository.
const kopiaText =
  '{"owner":"user@host","quick":{"enabled":true,"interval":3600000000000},"full":{"enabled":true,"interval":86400000000000},' +
  '"logRetention":{"maxTotalSize":1073741824,"maxCount":10000,"maxAge":2592000000000000},"extendObjectLocks":false,"listParallelism":0}'

describe('maintenance parameters', () => {
  it('have the defaults and the bytes that kopia stores', () => {
    assert.equal(encodeGoJson(serializeMaintenanceParams(defaultMaintenanceParams('user@host'))), kopiaText)
    assert.deepEqual(parseMaintenanceParams(parseGoJson(kopiaText)), defaultMaintenanceParams('user@host'))
  })

  it('keep fields of a later version and numbers of any size', () => {
    const text = kopiaText
      .replace('2592000000000000', '9223372036854775807')
      .replace(/}$/, ',"later":{"n":[1,2]}}')
    assert.equal(encodeGoJson(serializeMaintenanceParams(parseMaintenanceParams(parseGoJson(text)))), text)
  })

  it('read an absent field as zero, and no log retention at all as the default', () => {
    const params = parseMaintenanceParams(parseGoJson('{"owner":"a@b","full":{"enabled":true,"interval":5}}'))
    assert.deepEqual(params.quick, { enabled: false, interval: 0n })
    assert.deepEqual(params.full, { enabled: true, interval: 5n })
    assert.deepEqual(params.logRetention, defaultMaintenanceParams().logRetention)
  })

  it('are refused when they are something else', () => {
    for (const text of ['[]', '"x"', '{"full":{"interval":"soon"}}', '{"listParallelism":1.5}']) {
      assert.throws(() => parseMaintenanceParams(parseGoJson(text)), { code: 'CORRUPT' }, text)
    }
  })
})
