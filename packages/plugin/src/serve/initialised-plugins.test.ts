import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { InitialisedPlugins } from './initialised-plugins.ts'

const signal = AbortSignal.abort()

function recording() {
  const events: string[] = []
  let count = 0
  const plugins = new InitialisedPlugins(async () => {
    count += 1
    const id = count
    return {
      id,
      init: async ({ config }: { config: Record<string, string> }) => {
        if (config.fail) throw new Error('refused')
        events.push(`init ${id}`)
      },
      [Symbol.asyncDispose]: async () => void events.push(`dispose ${id}`),
    }
  })
  return { events, plugins }
}

describe('plugins that are told their settings', () => {
  it('refuse to be used before', async () => {
    await assert.rejects(
      recording().plugins.use('a', async () => {}),
      /used before it was initialised/,
    )
  })

  it('are replaced by a new instance, and go when their last call has ended', async () => {
    const { events, plugins } = recording()
    await plugins.init('a', { config: {}, signal })
    const { promise: gate, resolve: open } = Promise.withResolvers<void>()
    const call = plugins.use('a', async ({ id }) => {
      await gate
      return id
    })
    await plugins.init('a', { config: {}, signal })
    assert.equal(await plugins.use('a', async ({ id }) => id), 2)
    assert.deepEqual(events, ['init 1', 'init 2'])
    open()
    assert.equal(await call, 1)
    assert.deepEqual(events, ['init 1', 'init 2', 'dispose 1'])
    await plugins[Symbol.asyncDispose]()
    assert.deepEqual(events.at(-1), 'dispose 2')
  })

  it('stay in place when new settings are refused', async () => {
    const { events, plugins } = recording()
    await plugins.init('a', { config: {}, signal })
    await assert.rejects(plugins.init('a', { config: { fail: 'yes' }, signal }), /refused/)
    assert.equal(await plugins.use('a', async ({ id }) => id), 1)
    assert.deepEqual(events, ['init 1', 'dispose 2'])
  })
})
