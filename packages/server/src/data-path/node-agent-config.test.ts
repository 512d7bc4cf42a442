import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { moversPerNode, parseNodeAgentConfig } from './node-agent-config.ts'

const parsed = (config: unknown) =>
  parseNodeAgentConfig({ 'any-key.json': JSON.stringify(config) }, 'velero/agents')

describe('the settings of node agents', () => {
  it('are under one key, whatever it is called', () => {
    assert.deepEqual(parsed({ podResources: { cpuLimit: '1' } }), { podResources: { cpuLimit: '1' } })
    for (const data of [{}, { a: '{}', b: '{}' }]) {
      assert.throws(() => parseNodeAgentConfig(data, 'velero/agents'), {
        code: 'INVALID_CONFIG',
        message: /keys/,
      })
    }
  })

  for (const loadConcurrency of [
    { globalConfig: 0 },
    { globalConfig: '2' },
    { prepareQueueLength: -1 },
    { perNodeConfig: [{ nodeSelector: {}, number: 1.5 }] },
  ]) {
    it(`name what is wrong with ${JSON.stringify(loadConcurrency)}`, () => {
      assert.throws(() => parsed({ loadConcurrency }), {
        code: 'INVALID_CONFIG',
        message: /velero\/agents.*loadConcurrency/,
      })
    })
  }

  it('give a node the smallest number that fits it, and one where nothing is said', () => {
    const config = parsed({
      loadConcurrency: {
        globalConfig: 4,
        perNodeConfig: [
          { nodeSelector: { matchLabels: { size: 'small' } }, number: 1 },
          { nodeSelector: { matchExpressions: [{ key: 'size', operator: 'Exists' }] }, number: 3 },
          {
            nodeSelector: { matchExpressions: [{ key: 'zone', operator: 'In', values: ['a', 'b'] }] },
            number: 2,
          },
        ],
      },
    })
    assert.equal(moversPerNode(config, {}), 4)
    assert.equal(moversPerNode(config, { size: 'small' }), 1)
    assert.equal(moversPerNode(config, { size: 'large' }), 3)
    assert.equal(moversPerNode(config, { size: 'large', zone: 'b' }), 2)
    assert.equal(moversPerNode({}, {}), 1)
  })
})
