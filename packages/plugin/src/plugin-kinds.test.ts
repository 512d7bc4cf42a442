import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  checkPluginName,
  fullPluginName,
  kindsKnownToHost,
  pluginKinds,
  pluginNameProblem,
} from './plugin-kinds.ts'

describe('the name of a plugin', () => {
  it('is a domain and a name', () => {
    for (const name of ['velero.io/aws', 'example.com/My_Action 1', 'a/b', `${'a'.repeat(253)}/b`]) {
      assert.equal(pluginNameProblem(name), undefined, name)
    }
  })

  for (const name of [
    '',
    'aws',
    '/aws',
    'velero.io/',
    'a/b/c',
    'Velero.io/x',
    'a_b/c',
    '-a/b',
    'a..b/c',
    'a./c',
  ]) {
    it(`is not ${JSON.stringify(name)}`, () => {
      assert.notEqual(pluginNameProblem(name), undefined)
      assert.throws(() => checkPluginName('ObjectStore', name), /cannot be registered.*Use the domain/)
    })
  }

  it('is one of velero.io where it has no domain', () => {
    assert.equal(fullPluginName('aws'), 'velero.io/aws')
    assert.equal(fullPluginName('example.com/aws'), 'example.com/aws')
  })
})

describe('the kinds that a host knows', () => {
  it("are Velero's alone unless it says more", () => {
    const veleros = pluginKinds.filter(kind => kind !== 'BackupItemActionV3')
    for (const announced of [undefined, '', 'Whatever']) {
      assert.deepEqual([...kindsKnownToHost(announced)], veleros)
    }
    assert.deepEqual([...kindsKnownToHost('Whatever, BackupItemActionV3')], [...pluginKinds])
  })
})
